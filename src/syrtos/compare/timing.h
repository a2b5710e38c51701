#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "syrtos/compare/cells.h"
#include "syrtos/compare/environments.h"
#include "syrtos/compare/ours.h"
#include "syrtos/launch/remote.h"

namespace syrtos::compare {

/// Who was measured: we, or a peer, alone or together.
struct Side {
  std::string name;  ///< "syrtos", "pytorch"
  std::string mode;  ///< "sync", "async"
  bool operator<(const Side& other) const {
    return std::tie(name, mode) < std::tie(other.name, other.mode);
  }
};

/// Repeated measurements of one number.
struct Repeated {
  std::vector<double> values;
  double median() const;
  /// Of the median: half of what lies between the smallest and the largest.
  double spread() const;
};

/// An operator in common words.
struct OperatorTime {
  std::string name;    ///< the framework's own
  std::string kind;    ///< one of those that all share
  double seconds = 0;  ///< per step
};

/// What is known of one side and one network.
struct SideTimes {
  // Phase 1: the cluster.
  Repeated step_s;  ///< of the slowest rank
  double images_per_s = 0;
  double cpu_s = 0;                    ///< of all ranks, per step
  double memory = 0;                   ///< bytes of the largest rank
  std::map<std::string, double> wire;  ///< bytes sent per step, by "host interface"
  // Phase 2: one worker's share.
  std::map<std::string, Repeated> parts;  ///< load, forward, backward, update
  double local_s() const;
  // Phase 3.
  std::vector<OperatorTime> operators;
  std::map<int, std::string> failed;  ///< phase -> why there is nothing
  std::map<int, std::string> absent;  ///< the same where the peer has no such thing
};

struct NetworkTimes {
  std::string network;
  nlohmann::json setting;  ///< batch, image, threads, workers
  std::map<Side, SideTimes> sides;
};

struct TimingRequest {
  std::vector<int> phases;  ///< of 1, 2, 3
  std::vector<std::string> modes = {"sync"};
  std::vector<launch::Host> hosts;  ///< empty: processes of this machine
  int workers = 3;
  std::string remote_shell = "ssh";
  int64_t batch = 42;  ///< of each worker
  int threads = 1;     ///< of each worker
  int repetitions = 3;
  int64_t steps = 20;  ///< of a repetition together
  double seconds = 3;  ///< of a repetition alone
  double patience_s = 300;
  std::filesystem::path program;    ///< ours
  std::filesystem::path directory;  ///< cells, logs, runs
  Rule rule = {0.01, 0.9, 0};
  std::function<bool()> should_stop = [] { return false; };
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

/// Measures one network with everybody, interleaved: each repetition takes every side once. What
/// cells have already is not measured again. A peer that fails is marked. Throws when interrupted.
class Timing {
 public:
  Timing(TimingRequest request, std::vector<PeerProgram> peers);

  NetworkTimes measure(const nn::Network& network, const nn::ModelOptions& options);

  /// Cells that are left, of so many networks: for the remaining time.
  void expect(size_t networks) { networks_left_ = networks; }

 private:
  struct Subject;
  struct Cell {
    int phase;
    int repetition;
    Side side;
    const PeerProgram* peer;  ///< nullptr: we
  };
  std::vector<Cell> cells_of() const;
  nlohmann::json run(const Cell& cell, const Subject& subject);
  nlohmann::json run_peer_alone(const Cell& cell, const Subject& subject);
  nlohmann::json run_peers(const Cell& cell, const Subject& subject);
  nlohmann::json run_ours(const Cell& cell, const Subject& subject);
  std::vector<std::string> command_on(size_t rank, const std::vector<std::string>& command) const;
  std::string address_of(size_t rank) const;
  void add(const Cell& cell, const nlohmann::json& result, const Subject& subject, size_t left,
           SideTimes& times);

  TimingRequest request_;
  std::vector<PeerProgram> peers_;
  Cells cells_;
  size_t networks_left_ = 1;
  double measured_s_ = 0;
  size_t measured_ = 0;
  int port_ = 0;
};

}  // namespace syrtos::compare

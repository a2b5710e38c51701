#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "syrtos/base/error.h"
#include "syrtos/launch/process.h"

namespace syrtos::compare {

/// A peer that cannot go on: it is not installed, hangs, has ended or says what nobody understands.
/// Its cells are marked; the others go on.
class PeerFailed : public RunError {
 public:
  using RunError::RunError;
};

/// The peer has no such thing, such as a profiler; nothing is wrong with it.
class PeerCannot : public PeerFailed {
 public:
  using PeerFailed::PeerFailed;
};

/// How a peer's adapter is run.
struct PeerProgram {
  std::string name;                ///< "pytorch", for people
  std::string python;              ///< the interpreter of its environment
  std::filesystem::path script;    ///< its adapter
  std::filesystem::path adapters;  ///< where syrtos_peer.py is
};

/// The command that runs it. `shell`: words before it that run it elsewhere.
std::vector<std::string> peer_command(const PeerProgram& program);

/// What a peer says of itself.
struct PeerFacts {
  std::string name;
  std::string version;
  std::string python;
  bool computes_doubles = false;
  std::vector<std::string> modes;  ///< of training together: "sync", "async"
};

/// A process that answers requests, lines of JSON, one after the other. It ends with this object.
/// Not thread-safe.
class Peer {
 public:
  static constexpr size_t kMostLogged = size_t{64} << 20;

  struct Limits {
    double seconds = 300;  ///< for one answer
    std::function<bool()> should_stop = [] { return false; };
  };

  /// Starts it; `log` gets what it prints, as long as that is no more than kMostLogged. Throws
  /// PeerFailed.
  Peer(const PeerProgram& program, std::filesystem::path log, Limits limits);
  /// The same by a command of one's own, such as one that runs it on another host.
  Peer(std::string name, const std::vector<std::string>& command, std::filesystem::path log,
       Limits limits);
  ~Peer();

  const PeerFacts& facts() const { return facts_; }
  const std::string& name() const { return name_; }

  /// Sends a request and waits for its answer. `seconds`: instead of the usual limit.
  nlohmann::json ask(const nlohmann::json& request, std::optional<double> seconds = {});
  /// In two halves, so that several peers can work at the same time.
  void send(const nlohmann::json& request);
  nlohmann::json receive(std::optional<double> seconds = {});
  /// Takes an answer, or a file that it wrote, apart: what `take` finds wrong with it (a RunError,
  /// a JSON value that is missing or of another type) is the peer's failure.
  void understand(const std::function<void()>& take) const;

 private:
  void say_hello();
  bool take_output(int wait_ms);
  bool take_block(int descriptor, bool is_answer);
  void keep(const std::string& printed);
  [[noreturn]] void fail(const std::string& what) const;
  nlohmann::json parsed(const std::string& line) const;

  std::string name_;
  std::filesystem::path log_;
  Limits limits_;
  launch::Process process_;
  PeerFacts facts_;
  std::string asked_;    // what it does now
  std::string answers_;  // not read yet
  std::string said_;     // the end of what it printed
  size_t logged_ = 0;    // bytes
};

}  // namespace syrtos::compare

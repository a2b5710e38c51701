#pragma once

#include <string>
#include <vector>

#include "syrtos/collective/group.h"
#include "syrtos/planner/probe_network.h"
#include "syrtos/planner/probe_schedule.h"
#include "syrtos/planner/probe_stream.h"
#include "syrtos/world/control.h"

namespace syrtos::planner {

using world::control_tag;
using world::ControlItem;
using world::Task;
using world::World;

/// probe_network() at work on one rank; all ranks go through the same steps.
class NetworkProber {
 public:
  NetworkProber(World& world, NetworkProbeOptions options);
  Task<NetworkProbe> run();

 private:
  static constexpr size_t kMostTurns = 32;
  static constexpr double kMostSpread = 0.9;

  /// Seconds of each part.
  struct Times {
    double pair;
    double fan;
    double ring;
    double computing;  // of one host alone
  };
  static Times times_of(double all, size_t pairs, int hosts);

  size_t hosts() const { return static_cast<size_t>(world_.size()); }
  HostProfile& profile(size_t rank) { return result_.cluster.hosts[rank]; }

  /// Everybody's values, on every rank: as many of each.
  Task<std::vector<std::vector<double>>> share(std::vector<double> mine);
  Task<Figures> share_figures(std::vector<Figure> mine);
  /// Nobody begins before all have come.
  Task<> step(const std::string& doing);
  /// One turn after the other; what this rank measured in each.
  using Measure = Task<Figure> (NetworkProber::*)(const Meeting&);
  Task<Figures> take_turns(const std::vector<Turn>& turns, std::string doing, Measure measure);
  Task<> describe_hosts();
  /// What passed between the ranks went through the memory of their host, which they share.
  void become_one_host();

  // probe_computing.cc
  Task<double> piece();
  /// Seconds of a piece, again and again: the percentile, and how they vary.
  Task<Figure> compute_for(double seconds, double part);
  /// Whatever else runs there now and then only makes it longer: the speed is that of the quick
  /// ones.
  Task<Figure> compute_alone(const Meeting&);
  /// Rank 0 finds out how much is a piece; all others do as much.
  Task<> agree_on_piece();
  Task<> measure_computing();

  // probe_bytes.cc
  Rank peer_in(const Meeting& meeting) const;
  Task<Figure> latency_of(const Meeting& meeting);
  Task<> measure_latency();
  static double typical_spread(const std::vector<Figure>& figures);
  Task<Figure> exchange_of(const Meeting& meeting);
  /// `beside`: streams at the same time.
  Stream stream_with(Rank peer, int beside = 1) const;
  Task<Figure> exchange_with_all(const Meeting& meeting);
  void note_bandwidths(const std::vector<double>& found);
  Task<> measure_bandwidth();
  Task<Figure> go_around();
  Task<> measure_ring();
  Task<> measure_ring_and_computing();

  World& world_;
  const NetworkProbeOptions options_;
  const collective::Group group_;
  const std::vector<Turn> pairs_;
  const Times times_;
  const double start_;
  double planned_ = 1;
  int64_t repeats_ = 8;
  NetworkProbe result_;
};

}  // namespace syrtos::planner

#include "syrtos/planner/cuts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "syrtos/planner/candidates.h"
#include "syrtos/planner/part_work.h"

namespace syrtos::planner {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// What a host gives the part that is on it: the least of all replicas'.
struct Place {
  double speed = kNever;
  double bandwidth = kNever;
  double memory = kNever;
};

/// What stretches of units cost as pieces of a way.
class Costs {
 public:
  Costs(const Workload& workload, const ClusterProfile& cluster, const Candidate& way)
      : network_(*workload.network),
        parts_(way.options.split.parts),
        pieces_(parts_ * way.options.pipeline.pieces),
        replicas_(way.replicas()),
        micros_(static_cast<double>(accumulate_of(workload, way))),
        samples_(std::ceil(static_cast<double>(worker_batch(workload, way)) / micros_)),
        places_(places_of(workload, cluster, way)),
        turns_(turns_of_workers(way, static_cast<int>(micros_))) {
    const auto layers = network_.seconds_of(
        workload.compute, workload.compute.pass_of(static_cast<int64_t>(samples_)));
    for (const NetworkGraph::UnitShares& unit : network_.unit_shares()) {
      double forward = 0;
      for (const auto& [layer, share] : unit.forward) forward += share * layers[layer].first;
      double seconds = forward;
      for (const auto& [layer, share] : unit.backward) seconds += share * layers[layer].second;
      until_.push_back(until_.back() + seconds);
      forward_.push_back(forward_.back() + forward);
      weights_.push_back(weights_.back() + unit.elements);
      kept_.push_back(kept_.back() + unit.kept);
    }
    const auto all = static_cast<double>(workload.compute.elements());
    update_s_ = workload.compute.update_s / all;
    wire_bytes_ = way.options.wire.bytes_per_element();
    kept_scale_ = kept_scale(workload, static_cast<int64_t>(samples_));
  }

  size_t units() const { return until_.size() - 1; }
  int pieces() const { return pieces_; }
  bool can_begin(size_t unit) const { return unit == 0 || network_.units()[unit].can_begin; }

  /// Seconds of a step that the piece's worker computes for it.
  double computing(size_t first, size_t end, int piece) const {
    return (micros_ * (until_[end] - until_[first]) +
            update_s_ * (weights_[end] - weights_[first])) /
           place(piece).speed;
  }
  /// And that its wire is busy in one direction.
  double wire(size_t first, size_t end, int piece) const {
    const double crossing = network_.bytes_into(first, end) + network_.bytes_out_of(first, end);
    const double gradients =
        2 * (replicas_ - 1.0) / replicas_ * (weights_[end] - weights_[first]) * wire_bytes_;
    return (micros_ * samples_ * crossing + gradients) / place(piece).bandwidth;
  }
  bool fits(size_t first, size_t end, int piece) const {
    const double memory = place(piece).memory;
    if (memory == kNever) return true;
    const int part = piece % parts_;
    const int behind = 2 * (parts_ - 1 - part) + 1;
    const double in_flight = pieces_ > parts_ ? behind + parts_ : std::min(micros_, behind * 1.0);
    const double copies = micros_ > 1 ? 4 : 3;
    const double messages =
        4 * (network_.bytes_into(first, end) + network_.bytes_out_of(first, end));
    const double needs =
        copies * sizeof(float) * (weights_[end] - weights_[first]) +
        samples_ * (kept_scale_ * in_flight *
                        (kept_[end] - kept_[first] + network_.bytes_into(first, end)) +
                    messages);
    return needs * per_worker() <= memory;
  }
  double per_worker() const { return static_cast<double>(pieces_) / parts_; }

  /// What a step takes about: the turns of all workers, one after the other, as early as what they
  /// need is there.
  double estimate(const std::vector<size_t>& begins) const;
  /// Turns that an estimate looks at.
  double turns() const { return 2 * micros_ * pieces_; }

 private:
  static std::vector<Place> places_of(const Workload& workload, const ClusterProfile& cluster,
                                      const Candidate& way) {
    std::vector<const HostProfile*> of_rank;
    for (const HostProfile& host : cluster.hosts) {
      for (int slot = 0; slot < host.slots; ++slot) of_rank.push_back(&host);
    }
    const auto parts = static_cast<size_t>(way.options.split.parts);
    std::vector<Place> places(parts);
    const auto ranks = std::min(of_rank.size(), static_cast<size_t>(way.workers));
    std::map<const HostProfile*, int> on_host;
    for (size_t rank = 0; rank < ranks; ++rank) ++on_host[of_rank[rank]];
    for (size_t rank = 0; rank < ranks; ++rank) {
      const HostProfile& host = *of_rank[rank];
      const int together = on_host[&host];
      const double threads = static_cast<double>(workload.compute.threads * together);
      const double crowded = host.cores > 0 ? std::max(1.0, threads / host.cores) : 1;
      Place& place = places[rank % parts];
      place.speed = std::min(place.speed, workload.replayed ? 1 : host.speed / crowded);
      const bool alone = on_host.size() == 1;
      place.bandwidth =
          std::min(place.bandwidth, (alone ? host.memory_bandwidth : host.bandwidth) / together);
      if (host.memory > 0) place.memory = std::min(place.memory, host.memory / together);
    }
    return places;
  }
  static std::vector<std::vector<strategy::Turn>> turns_of_workers(const Candidate& way,
                                                                   int micros) {
    std::vector<std::vector<strategy::Turn>> turns;
    const int parts = way.options.split.parts;
    for (int part = 0; part < parts; ++part) {
      const int ahead = 2 * (parts - 1 - part) + 1;
      turns.push_back(turns_of(way.options.pipeline, {part, parts, ahead}, micros));
    }
    return turns;
  }
  double seconds(const std::vector<double>& until, size_t first, size_t end, int piece) const {
    return (until[end] - until[first]) / place(piece).speed;
  }
  const Place& place(int piece) const { return places_[static_cast<size_t>(piece % parts_)]; }

  const NetworkGraph& network_;
  const int parts_;
  const int pieces_;
  const double replicas_;
  const double micros_;
  const double samples_;
  const std::vector<Place> places_;
  const std::vector<std::vector<strategy::Turn>> turns_;  // of each worker
  std::vector<double> until_{0};                          // of all units before
  std::vector<double> forward_{0};                        // of that
  std::vector<double> weights_{0};
  std::vector<double> kept_{0};
  double update_s_ = 0;
  double wire_bytes_ = 4;
  double kept_scale_ = 1;
};

/// Turns of a pipeline in time.
class Clockwork {
 public:
  struct Times {
    double forward = 0;  // of a micro-batch, seconds
    double backward = 0;
    double comes = 0;  // until a micro-batch's values have come from the piece before
    double after = 0;  // updates and gradients that cross
  };
  Clockwork(const std::vector<std::vector<strategy::Turn>>& turns, std::vector<Times> pieces,
            size_t micros)
      : turns_(turns),
        pieces_(std::move(pieces)),
        micros_(micros),
        forward_at_(pieces_.size() * micros, kNever),
        backward_at_(forward_at_),
        workers_(turns.size()) {}

  /// From one step to the next.
  double period() {
    for (bool moves = true; moves;) {
      moves = false;
      for (size_t worker = 0; worker < turns_.size(); ++worker) {
        while (workers_[worker].next < turns_[worker].size() && take(worker)) moves = true;
      }
    }
    double period = 0;
    for (size_t worker = 0; worker < workers_.size(); ++worker) {
      if (workers_[worker].next < turns_[worker].size()) return kNever;  // they wait for each other
      double after = 0;
      for (size_t piece = worker; piece < pieces_.size(); piece += workers_.size()) {
        after += pieces_[piece].after;
      }
      period = std::max(period, workers_[worker].now - workers_[worker].began + after);
    }
    return period;
  }

 private:
  struct Worker {
    size_t next = 0;
    double now = 0;
    double began = kNever;
    double sent = 0;  // its wire is free again
  };

  bool take(size_t worker) {
    Worker& own = workers_[worker];
    const strategy::Turn& turn = turns_[worker][own.next];
    const size_t piece = worker + static_cast<size_t>(turn.piece) * workers_.size();
    const auto micro = static_cast<size_t>(turn.micro);
    const size_t at = piece * micros_ + micro;
    const bool first = piece == 0;
    const bool last = piece + 1 == pieces_.size();
    double ready = 0;
    if (!turn.backward && !first) ready = forward_at_[at];
    if (turn.backward && !last) ready = backward_at_[at];
    if (ready == kNever) return false;
    const double start = std::max(own.now, ready);
    own.began = std::min(own.began, start);
    own.now = start + (turn.backward ? pieces_[piece].backward : pieces_[piece].forward);
    if (!turn.backward && !last) forward_at_[at + micros_] = send(own, pieces_[piece + 1].comes);
    if (turn.backward && !first) backward_at_[at - micros_] = send(own, pieces_[piece].comes);
    ++own.next;
    return true;
  }
  static double send(Worker& from, double seconds) {
    return from.sent = std::max(from.sent, from.now) + seconds;
  }

  const std::vector<std::vector<strategy::Turn>>& turns_;
  const std::vector<Times> pieces_;
  const size_t micros_;
  std::vector<double> forward_at_;  // piece, micro-batch: what it reads has come
  std::vector<double> backward_at_;
  std::vector<Worker> workers_;
};

double Costs::estimate(const std::vector<size_t>& begins) const {
  std::vector<Clockwork::Times> pieces;
  for (size_t i = 0; i < begins.size(); ++i) {
    const size_t end = i + 1 < begins.size() ? begins[i + 1] : units();
    const int piece = static_cast<int>(i);
    const double forward = seconds(forward_, begins[i], end, piece);
    const double weights = weights_[end] - weights_[begins[i]];
    const double slowest =
        i == 0 ? kNever : std::min(place(piece).bandwidth, place(piece - 1).bandwidth);
    pieces.push_back(
        {forward, seconds(until_, begins[i], end, piece) - forward,
         samples_ * network_.bytes_into(begins[i], end) / slowest,
         update_s_ * weights / place(piece).speed +
             2 * (replicas_ - 1.0) / replicas_ * weights * wire_bytes_ / place(piece).bandwidth});
  }
  return Clockwork(turns_, std::move(pieces), static_cast<size_t>(micros_)).period();
}

/// The units at which pieces begin, each with at most `slowest` seconds a step, that together
/// compute and send for the shortest time; empty: there are none.
std::vector<size_t> cut_within(const Costs& costs, double slowest) {
  const auto pieces = static_cast<size_t>(costs.pieces());
  const size_t units = costs.units();
  std::vector<std::vector<double>> least(pieces + 1, std::vector<double>(units + 1, kNever));
  std::vector<std::vector<size_t>> begin(pieces + 1, std::vector<size_t>(units + 1));
  least[0][0] = 0;
  for (size_t p = 1; p <= pieces; ++p) {
    const int piece = static_cast<int>(p) - 1;
    for (size_t end = p; end <= units; ++end) {
      if (end < units && !costs.can_begin(end)) continue;
      for (size_t first = end; first-- > p - 1;) {
        const double computes = costs.computing(first, end, piece);
        if (computes > slowest) break;  // more would be slower still
        if (least[p - 1][first] == kNever) continue;
        const double crosses = costs.wire(first, end, piece);
        const double sum = least[p - 1][first] + computes + crosses;
        if (crosses > slowest || sum >= least[p][end] || !costs.fits(first, end, piece)) continue;
        least[p][end] = sum;
        begin[p][end] = first;
      }
    }
  }
  std::vector<size_t> begins;
  if (least[pieces][units] == kNever) return begins;
  for (size_t p = pieces, end = units; p > 0; --p) begins.push_back(end = begin[p][end]);
  std::reverse(begins.begin(), begins.end());
  return begins;
}

/// The seconds that the slowest piece takes at least.
double least_slowest(const Costs& costs) {
  double low = kNever;
  double high = 0;
  for (int piece = 0; piece < costs.pieces(); ++piece) {
    const double computes = costs.computing(0, costs.units(), piece);
    low = std::min(low, computes / costs.pieces());
    high = std::max(high, computes);
    for (size_t unit = 0; unit < costs.units(); ++unit) {
      high = std::max(high, costs.wire(unit, unit + 1, piece));
    }
    high = std::max(high, costs.wire(0, costs.units(), piece));
  }
  // Mostly it is not far from even parts: so from below, in growing steps.
  constexpr double kExact = 1.01;
  double reached = kNever;
  for (double step = 1.05, at = std::max(low, 1e-9); reached == kNever; at *= step, step *= step) {
    const bool last = at > 2 * high;
    if (!cut_within(costs, at).empty()) reached = at;
    if (reached == kNever && last) return kNever;
    if (reached == kNever) low = at;
  }
  while (reached > kExact * low) {
    const double middle = std::sqrt(low * reached);
    (cut_within(costs, middle).empty() ? low : reached) = middle;
  }
  return reached;
}

/// Cuts next to these.
std::vector<std::vector<size_t>> neighbours(const NetworkGraph& network,
                                            const std::vector<size_t>& begins) {
  const std::vector<graph::Unit>& units = network.units();
  std::vector<std::vector<size_t>> found;
  const auto add = [&](size_t first, size_t count, int by) {
    std::vector<size_t> moved = begins;
    for (size_t i = first; i < std::min(first + count, moved.size()); ++i) {
      const int direction = by < 0 ? -1 : 1;
      for (int steps = std::abs(by); steps > 0; --steps) {
        do {
          moved[i] += static_cast<size_t>(direction);
        } while (moved[i] > 0 && moved[i] < units.size() && !units[moved[i]].can_begin);
        if (moved[i] == 0 || moved[i] >= units.size()) return;
      }
    }
    if (std::adjacent_find(moved.begin(), moved.end(), std::greater_equal<>()) == moved.end()) {
      found.push_back(std::move(moved));
    }
  };
  for (const auto& [count, by] : {std::pair{1, 1}, {2, 1}, {1, 2}, {3, 1}}) {
    for (size_t i = 0; i + static_cast<size_t>(count) <= begins.size(); ++i) {
      add(i, static_cast<size_t>(count), -by);
      add(i, static_cast<size_t>(count), by);
    }
  }
  return found;
}

bool all_fit(const Costs& costs, const std::vector<size_t>& begins) {
  for (size_t i = 0; i < begins.size(); ++i) {
    const size_t end = i + 1 < begins.size() ? begins[i + 1] : costs.units();
    if (!costs.fits(begins[i], end, static_cast<int>(i))) return false;
  }
  return true;
}

/// From each of these on to better ones next to it, by estimates, as many as take no long time.
void climb(const Costs& costs, const NetworkGraph& network,
           std::map<std::vector<size_t>, double>& found) {
  constexpr double kMostTurns = 4e6;  // about a tenth of a second
  double left = kMostTurns;
  const std::map<std::vector<size_t>, double> starts = found;
  for (const auto& [start, start_seconds] : starts) {
    std::vector<size_t> now = start;
    double seconds = start_seconds;
    for (bool goes_on = true; goes_on && left > 0;) {
      goes_on = false;
      for (std::vector<size_t> cuts : neighbours(network, {now.begin() + 1, now.end()})) {
        cuts.insert(cuts.begin(), 0);
        const auto [known, is_new] = found.try_emplace(cuts, kNever);
        if (!is_new) continue;
        left -= costs.turns();
        if (all_fit(costs, cuts)) known->second = costs.estimate(cuts);
        if (known->second >= seconds) continue;
        seconds = known->second;
        now = cuts;
        goes_on = true;
        break;
      }
    }
  }
  std::erase_if(found, [](const auto& one) { return one.second == kNever; });
}

}  // namespace

std::vector<strategy::Split> good_cuts(const Workload& workload, const ClusterProfile& cluster,
                                       const Candidate& way, size_t most) {
  const NetworkGraph& network = *workload.network;
  const Costs costs(workload, cluster, way);
  const double slowest = least_slowest(costs);
  if (slowest == kNever) return {};
  std::map<std::vector<size_t>, double> found;
  for (const double slack : {1.0, 1.03, 1.08, 1.15, 1.25, 1.4, 1.6, 2.0, 3.0}) {
    if (found.size() > most) break;
    const std::vector<size_t> begins = cut_within(costs, slack * slowest);
    if (!begins.empty()) found.emplace(begins, costs.estimate(begins));
  }
  if (most > 1) climb(costs, network, found);
  std::vector<std::pair<double, std::vector<size_t>>> best;
  for (const auto& [begins, seconds] : found) best.emplace_back(seconds, begins);
  std::sort(best.begin(), best.end());
  std::vector<strategy::Split> splits;
  for (const auto& [seconds, begins] : best) {
    if (splits.size() >= most) break;
    splits.push_back(network.split_at({begins.begin() + 1, begins.end()}, way.options.split.parts));
  }
  return splits;
}

strategy::Split best_cut(const Workload& workload, const ClusterProfile& cluster, Candidate way,
                         int simulations) {
  const NetworkGraph& network = *workload.network;
  const int pieces = way.options.split.parts * way.options.pipeline.pieces;
  strategy::Split best = way.options.split;
  double least = kNever;
  std::set<graph::Placement> tried;
  const auto better = [&](const strategy::Split& split) {
    if (simulations <= 0 || !tried.insert(network.cut(split, pieces)->placement).second)
      return false;
    --simulations;
    way.options.split = split;
    if (!fits_in_memory(workload, cluster, way)) return false;
    const double seconds = simulate(workload, cluster, way).seconds;
    if (seconds >= least) return false;
    least = seconds;
    best = split;
    return true;
  };
  constexpr size_t kFirst = 6;
  for (const strategy::Split& split : good_cuts(workload, cluster, way, kFirst)) better(split);
  // From there on some cuts are moved, as long as that helps: one, two neighbours, one further.
  const auto moves = [&] { return neighbours(network, network.begins_of(best, pieces)); };
  for (bool goes_on = least < kNever; goes_on && simulations > 0;) {
    goes_on = false;
    for (const std::vector<size_t>& moved : moves()) {
      goes_on = better(network.split_at(moved, way.options.split.parts)) || goes_on;
      if (goes_on) break;
    }
  }
  return best;
}

}  // namespace syrtos::planner

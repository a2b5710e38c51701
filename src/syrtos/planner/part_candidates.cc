#include "syrtos/planner/part_candidates.h"

#include <algorithm>
#include <optional>

#include "syrtos/base/error.h"
#include "syrtos/planner/cuts.h"
#include "syrtos/planner/part_work.h"

namespace syrtos::planner {

using collective::Algorithm;
using strategy::Exchange;
using strategy::Pipeline;
using strategy::Split;
using strategy::Sync;
using strategy::Wire;

namespace {

constexpr int kMostParts = 64;
constexpr int kAllParts = 16;  // workers up to which every number of parts is tried

/// Units that can begin a piece.
int most_pieces(const NetworkGraph& network) {
  return static_cast<int>(std::count_if(network.units().begin(), network.units().end(),
                                        [](const graph::Unit& unit) { return unit.can_begin; }));
}

bool is_given(const Split& split) {
  return split.kind == Split::Kind::branches || split.kind == Split::Kind::names;
}

/// Cuts that were asked for as they are, with their number of pieces as parts. Throws RequestError.
std::vector<Split> given_cuts(const SearchSpace& space, const NetworkGraph& network) {
  std::vector<Split> given;
  for (Split split : space.splits) {
    if (!is_given(split)) continue;
    split.parts = network.cut(split, 0)->placement.pieces;
    given.push_back(std::move(split));
  }
  return given;
}

std::vector<int> part_counts(const SearchSpace& space, const std::vector<Split>& given, int workers,
                             int pieces) {
  const auto may = [&](int parts) {
    return space.splits.empty() ||
           std::any_of(space.splits.begin(), space.splits.end(),
                       [&](const Split& split) {
                         return split.kind == Split::Kind::automatic ||
                                (split.kind == Split::Kind::layers && split.parts == parts);
                       }) ||
           std::any_of(given.begin(), given.end(),
                       [&](const Split& split) { return split.parts == parts; });
  };
  std::vector<int> counts;
  for (int parts = 2; parts <= std::min({workers, pieces, kMostParts}); ++parts) {
    const bool usual = workers <= kAllParts || parts == workers || (parts & (parts - 1)) == 0;
    if (workers % parts == 0 && usual && may(parts)) counts.push_back(parts);
  }
  return counts;
}

/// Divisors of a replica's samples: near 2, 4 and 8 times as many micro-batches as parts.
std::vector<int64_t> micro_batch_counts(const Workload& workload, int64_t share, int parts,
                                        bool few) {
  if (workload.accumulate > 1) return {workload.accumulate};  // as asked for
  std::vector<int64_t> counts;
  for (const int64_t wish : {1, 2, 4, 8}) {
    if (few && wish % 2 == 0 && wish != 4) continue;
    int64_t best = 1;
    for (int64_t count = 1; count <= share; ++count) {
      if (share % count != 0) continue;
      best = count;
      if (count >= wish * parts) break;
    }
    if (counts.empty() || counts.back() != best) counts.push_back(best);
  }
  return counts;
}

/// How gradients cross between replicas; of one there are none.
std::vector<strategy::Options> exchanges(const SearchSpace& space, int replicas) {
  std::vector<Exchange> ways;
  for (const Exchange& exchange : space.exchanges) {
    if (exchange.among_workers() && !exchange.needs_mpi()) ways.push_back(exchange);
  }
  if (space.exchanges.empty()) {
    ways.push_back({Exchange::Kind::all_reduce, Algorithm::automatic, 0});
  }
  std::vector<Sync> syncs;
  for (const Sync::Kind kind : {Sync::Kind::split, Sync::Kind::join}) {
    const bool may =
        space.syncs.empty() || std::any_of(space.syncs.begin(), space.syncs.end(),
                                           [&](const Sync& sync) { return sync.kind == kind; });
    if (may) syncs.push_back({kind, 0});
  }
  std::vector<Wire> wires = space.wires;
  if (wires.empty()) wires = {{Wire::Kind::f32, 0}, {Wire::Kind::bf16, 0}};
  if (replicas == 1) {
    if (ways.size() > 1) ways.resize(1);
    if (syncs.size() > 1) syncs.resize(1);
    wires.resize(1);
  }
  std::vector<strategy::Options> all;
  for (const Exchange& exchange : ways) {
    for (const Sync& sync : syncs) {
      for (const Wire& wire : wires) {
        strategy::Options& options = all.emplace_back();
        options.exchange = exchange;
        options.sync = sync;
        options.wire = wire;
        options.bucket_mb = replicas > 1 ? space.bucket_mb : 0;
      }
    }
  }
  return all;
}

bool is_possible(const Workload& workload, const Candidate& way) {
  const int64_t share = worker_batch(workload, way);
  const int64_t micros = way.micro_batches;
  const bool even = !way.options.sync.splits_batch() || workload.batch % way.replicas() == 0;
  if (!even || share % micros != 0) return false;
  const bool interleaved = way.options.pipeline.kind == Pipeline::Kind::interleaved;
  if (interleaved && micros % way.options.split.parts != 0) return false;
  try {
    check(way.options, way.workers, workload.batch, false);
  } catch (const RequestError&) {
    return false;
  }
  return step_samples(workload, way) <= workload.samples;
}

/// The way with this cut, where it has as many parts.
std::optional<Candidate> with_cut(const Workload& workload, Candidate way, const Split& split) {
  const int parts = way.options.split.parts;
  way.options.split = {split.kind, parts, split.names};
  way.options.pipeline = {};
  try {
    const auto cut = workload.network->cut(way.options.split, 0);
    if (cut->placement.pieces != parts) return {};
    if (!cut->goes_one_way()) way.options.pipeline.kind = Pipeline::Kind::fill_drain;
  } catch (const RequestError&) {
    return {};
  }
  return way;
}

}  // namespace

bool may_move_cuts(const SearchSpace& space) {
  return space.splits.empty() ||
         std::any_of(space.splits.begin(), space.splits.end(), [](const Split& split) {
           return split.kind == Split::Kind::automatic || split.kind == Split::Kind::layers;
         });
}

bool may_cut(const SearchSpace& space, const Workload& workload) {
  if (workload.network == nullptr || most_pieces(*workload.network) < 2) return false;
  return space.splits.empty() || std::any_of(space.splits.begin(), space.splits.end(),
                                             [](const Split& split) { return split.cuts(); });
}

std::vector<Candidate> part_candidates(const SearchSpace& space, const ClusterProfile& cluster,
                                       const Workload& workload, int workers) {
  std::vector<Candidate> all;
  if (!may_cut(space, workload)) return all;
  const int pieces = most_pieces(*workload.network);
  std::vector<Pipeline> pipelines = space.pipelines;
  if (pipelines.empty()) {
    pipelines.push_back({});
    if (workers <= kAllParts) pipelines.push_back({Pipeline::Kind::interleaved, 2});
  }
  const std::vector<Split> given = given_cuts(space, *workload.network);
  const bool finds = may_move_cuts(space);
  for (const int parts : part_counts(space, given, workers, pieces)) {
    for (const strategy::Options& options : exchanges(space, workers / parts)) {
      Candidate way{workers, options};
      way.options.split = Split::layers(parts);
      const bool few = workers > kAllParts;
      for (const int64_t micros :
           micro_batch_counts(workload, worker_batch(workload, way), parts, few)) {
        way.micro_batches = micros;
        way.options.split = Split::layers(parts);
        way.options.pipeline = {};
        for (const Split& split : given) {
          const auto cut = with_cut(workload, way, split);
          if (cut && is_possible(workload, *cut)) all.push_back(*cut);
        }
        if (!finds) continue;
        for (const Pipeline& pipeline : pipelines) {
          way.options.split = Split::layers(parts);
          way.options.pipeline = pipeline;
          if (pipeline.pieces * parts > pieces || !is_possible(workload, way)) continue;
          const auto splits = good_cuts(workload, cluster, way, 1);
          if (splits.empty()) continue;
          way.options.split = splits[0];
          all.push_back(way);
          if (!(pipeline == Pipeline{})) continue;
          const auto branches = with_cut(workload, way, {Split::Kind::branches, parts, {}});
          if (branches) all.push_back(*branches);
        }
      }
    }
  }
  return all;
}

std::optional<LeastMemory> least_memory_in_parts(const SearchSpace& space, ClusterProfile cluster,
                                                 const Workload& workload) {
  std::optional<LeastMemory> least;
  int slots = 0;
  for (HostProfile& host : cluster.hosts) {
    host.memory = 0;  // whatever it needs
    slots += host.slots;
  }
  for (int workers = 2; workers <= slots; ++workers) {
    const bool may = space.workers.empty() || std::find(space.workers.begin(), space.workers.end(),
                                                        workers) != space.workers.end();
    if (!may || (workers > kAllParts && workers != slots)) continue;
    for (const Candidate& way : part_candidates(space, cluster, workload, workers)) {
      const double bytes = memory_of(workload, way);
      if (!least || bytes < least->bytes) least = {way, bytes};
    }
  }
  return least;
}

}  // namespace syrtos::planner

#include "syrtos/planner/cut_view.h"

#include <algorithm>

#include "syrtos/planner/candidates.h"
#include "syrtos/planner/part_work.h"

namespace syrtos::planner {

namespace {

/// The piece of each unit: from each mark on it is another one.
std::vector<int> pieces_of_units(const NetworkGraph& network, const graph::Placement& placement) {
  std::vector<int> pieces;
  int current = 0;
  for (const graph::Unit& unit : network.units()) {
    const auto mark = std::find_if(placement.marks.begin(), placement.marks.end(),
                                   [&](const auto& m) { return m.layer == unit.layer; });
    if (mark != placement.marks.end()) current = mark->piece;
    pieces.push_back(current);
  }
  return pieces;
}

}  // namespace

CutView view_of(const Workload& workload, const Candidate& candidate) {
  const NetworkGraph& network = *workload.network;
  const strategy::Options& options = candidate.options;
  const bool cuts = options.split.cuts();
  const int64_t micros = accumulate_of(workload, candidate);
  const int64_t samples = worker_batch(workload, candidate) / micros;
  const auto layers = network.seconds_of(workload.compute, workload.compute.pass_of(samples));
  std::vector<int> pieces(network.units().size());
  CutView view;
  if (cuts) {
    const auto cut = network.cut(options.split, options.split.parts * options.pipeline.pieces);
    pieces = pieces_of_units(network, cut->placement);
    view.busy = busy_seconds(workload, candidate);
    view.memory = part_memory(workload, candidate);
  } else {
    view.busy = {pass_of(workload, candidate).seconds};
    view.memory = {memory_of(workload, candidate)};
  }
  for (size_t u = 0; u < pieces.size(); ++u) {
    double seconds = 0;
    for (const auto& [layer, share] : network.unit_shares()[u].forward) {
      seconds += share * layers[layer].first;
    }
    for (const auto& [layer, share] : network.unit_shares()[u].backward) {
      seconds += share * layers[layer].second;
    }
    view.units.push_back({network.units()[u].layer, pieces[u] % options.split.parts,
                          seconds * static_cast<double>(micros)});
  }
  for (const NetworkGraph::UnitEdge& edge : network.edges()) {
    view.edges.push_back({edge.from, edge.to, edge.bytes * static_cast<double>(samples * micros)});
  }
  return view;
}

}  // namespace syrtos::planner

#pragma once

#include <string>
#include <vector>

#include "syrtos/planner/simulate.h"

namespace syrtos::planner {

/// A network and which part each of its layers is in, for pictures.
struct CutView {
  /// A layer with weights and what follows it.
  struct Unit {
    std::string layer;
    int part = 0;
    double seconds = 0;  ///< of a step
  };
  /// What one uses of another.
  struct Edge {
    size_t from = 0;
    size_t to = 0;
    double bytes = 0;  ///< of a step, forward
  };
  std::vector<Unit> units;
  std::vector<Edge> edges;
  std::vector<double> busy;    ///< seconds of a step that each part computes
  std::vector<double> memory;  ///< bytes of each
};

/// Of a workload whose network is known.
CutView view_of(const Workload& workload, const Candidate& candidate);

}  // namespace syrtos::planner

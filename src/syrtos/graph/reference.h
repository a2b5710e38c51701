#pragma once

#include <map>

#include "syrtos/graph/graph.h"

namespace syrtos::graph {

/// Computes every value of the graph by the operations' naive references, in double precision and
/// node by node: the truth that programs, passes and gradients are tested against.
/// `given` holds all inputs, parameters and states; the result holds these and every computed
/// value.
std::map<ValueId, ops::RefTensor> evaluate_reference(const Graph& graph,
                                                     std::map<ValueId, ops::RefTensor> given,
                                                     const ops::Step& step = {});

}  // namespace syrtos::graph

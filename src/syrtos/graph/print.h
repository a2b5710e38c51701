#pragma once

#include <string>

#include "syrtos/graph/graph.h"

namespace syrtos::graph {

/// One line per node: index, phase, layer, operation with its attributes, MFLOP, inputs -> outputs.
std::string to_table(const Graph& graph);

/// For Graphviz: operations are boxes, coloured by phase; what is given stands in other shapes, and
/// edges carry types.
std::string to_dot(const Graph& graph);

}  // namespace syrtos::graph

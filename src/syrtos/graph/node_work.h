#pragma once

#include "syrtos/graph/graph.h"

namespace syrtos::graph {

/// A weight or a running statistic: something that outlives a step.
bool is_kept(const Graph& graph, ValueId value);
bool has_weights(const Graph& graph, const Node& node);

/// Bytes of a value, as it crosses.
double bytes_of(const Graph& graph, ValueId value);

/// What forward and backward of a node cost, in multiplications and additions; bytes that it reads
/// and writes count as some of them. For dividing a network of which no times are known.
double work_of(const Graph& graph, const Node& node);

}  // namespace syrtos::graph

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "syrtos/graph/graph.h"

namespace syrtos::graph {

/// A dense layer whose weights are trained and used nowhere else.
struct DenseLayer {
  std::string weight;     ///< [outputs, inputs]
  std::string bias = {};  ///< [outputs]; empty: it has none that could be divided too
  int64_t inputs = 0;
  int64_t outputs = 0;
  DType dtype = DType::f32;  ///< of what it reads
};

/// Those of a graph without gradients, in its order.
std::vector<DenseLayer> dense_layers(const Graph& graph);

/// The layers of these weights, divided by outputs between workers that each have a part of the
/// batch. Worker w computes columns[w] outputs of all samples:
///
///   y = x W^T + b   becomes   X = gather_rows(x)         the samples of all workers
///                             Y = X W_w^T + b_w          own outputs
///                             y = columns_to_rows(Y)     all outputs of own samples
///
/// In place of W and b the graph has the rows of them that this worker trains.
struct ColumnSplit {
  struct Layer {
    std::string weight;
    std::vector<int64_t> columns;  ///< outputs of each worker, at least 1
    std::string bias = {};         ///< that is divided with it; empty: none
  };
  std::vector<Layer> layers;
  int worker = 0;
  std::vector<int64_t> rows;  ///< samples of each worker

  const Layer* find(std::string_view weight) const;
};

/// Rewrites a graph without gradients for one of the workers; their gradient rules do the rest.
void split_columns(Graph& graph, const ColumnSplit& split);

}  // namespace syrtos::graph

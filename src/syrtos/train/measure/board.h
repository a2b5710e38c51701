#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "syrtos/graph/graph.h"
#include "syrtos/run/metrics.h"
#include "syrtos/trace/tensorboard.h"
#include "syrtos/train/measure/notebook.h"

namespace syrtos::train {

/// What TensorBoard shows of a run: curves and the network's graph.
class Board {
 public:
  /// A new file of events in the run directory; TensorBoard forgets what others there say of steps
  /// after `first_step`, which are about to be repeated. All is written by the notebook, which
  /// outlives it.
  Board(Notebook& notebook, const std::filesystem::path& run, const graph::Graph& graph,
        int64_t first_step);

  void step(int64_t step, double loss, double learning_rate);
  void epoch(const run::EpochMetrics& metrics);

 private:
  void add(int64_t step, std::vector<trace::Scalar> scalars);

  Notebook& notebook_;
  /// Of the notebook's thread; none: it could not be made.
  std::shared_ptr<std::optional<trace::EventFile>> events_;
};

/// A node for each operation, parameter, state and input; layers become boxes.
std::vector<trace::GraphNode> board_nodes(const graph::Graph& graph);

}  // namespace syrtos::train

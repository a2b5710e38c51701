#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "syrtos/graph/graph.h"
#include "syrtos/graph/parameters.h"
#include "syrtos/nn/builder.h"
#include "syrtos/nn/task.h"

namespace syrtos::nn {

/// What a network is built for; each of them takes all of it.
struct ModelOptions {
  int64_t batch = 1;
  int64_t classes = 10;  ///< outputs: one for each class, value or label, as the task has them
  int64_t channels = 3;  ///< 0: the network's default, as for height and width
  int64_t height = 32;
  int64_t width = 32;
  DType dtype = DType::f32;  ///< computed in: f32 or bf16
  bool training = true;      ///< false: running statistics, no dropout, no side classifiers
  Task task = {};            ///< what it learns
  std::vector<std::string> frozen = {};  ///< parameters that training leaves as they are
  /// Batch norm uses the statistics of what all workers have of a batch (in training).
  bool synchronised_batch_norm = false;
};

/// The forward pass and the loss; gradients are for the caller to add.
struct Model {
  std::string name;
  graph::Graph graph;
  ValueId images = graph::kNone;               ///< input "images": [N,C,H,W] in the compute type
  ValueId targets = graph::kNone;              ///< input "labels" or "targets": see add_targets()
  ValueId logits = graph::kNone;               ///< output "logits": [N,classes] f32
  ValueId loss = graph::kNone;                 ///< output "loss": [1] f32, the mean over the batch
  std::vector<NamedInitializer> initializers;  ///< of every parameter and state
};

/// Channels, height and width of the patches whose covariance the model's starting values are made
/// of; nothing for most models.
std::optional<Shape> needs_patches(const Model& model);

/// Fills `parameters`, laid out already, with the model's starting values. Without `patches`, a
/// model that needs them starts as for white noise: right for random images, poor for real ones.
void initialize_parameters(const Model& model, uint64_t seed, graph::Parameters& parameters,
                           const PatchCovariance* patches = nullptr);

/// Number of trained values.
int64_t parameter_count(const graph::Graph& graph);

/// Multiplications of convolutions and dense layers in the forward pass of one image.
int64_t multiply_adds(const graph::Graph& graph);
/// The same for one node, over its whole batch.
int64_t multiply_adds(const graph::Graph& graph, const graph::Node& node);

}  // namespace syrtos::nn

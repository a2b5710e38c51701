#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/nn/builder.h"

namespace syrtos::nn {

/// How far outputs are from what they should be.
enum class Loss : uint8_t {
  cross_entropy,         ///< of the classes' probabilities
  squared_error,         ///< half of the square
  absolute_error,        ///< L1
  huber,                 ///< half of the square up to delta, then along a line
  binary_cross_entropy,  ///< of each label's probability
};

/// What a network learns: the outputs are scores of classes, values, or scores of labels.
struct Task {
  Loss loss = Loss::cross_entropy;
  float delta = 1;                        ///< of huber
  double label_smoothing = 0;             ///< of cross_entropy, in training only, as the next
  std::vector<float> class_weights = {};  ///< one for each class, or none
  bool mixed = false;  ///< targets are shares of all classes, not the number of one
  /// Of values: what is learnt is (value - mean) / deviation, one each; none: what they are.
  std::vector<float> mean = {};
  std::vector<float> deviation = {};

  bool has_classes() const { return loss == Loss::cross_entropy; }
  bool has_labels() const { return loss == Loss::binary_cross_entropy; }
  bool has_values() const { return !has_classes() && !has_labels(); }
  /// Numbers that a sample's target consists of, for so many outputs.
  int64_t target_values(int64_t outputs) const { return has_classes() && !mixed ? 1 : outputs; }

  bool operator==(const Task&) const = default;
};

/// The loss as options name it: "cross-entropy", "huber:0.5".
std::string loss_text(const Task& task);
/// Puts what such a text says into a task. Throws RequestError that lists what there is.
Task parse_loss(std::string_view text);

/// Adds the targets' input: "labels" [N] s32, or "targets" [N,outputs] f32.
ValueId add_targets(graph::Graph& graph, const Task& task, int64_t batch, int64_t outputs);
/// The loss [1] of outputs [N,outputs], f32: a mean over samples, of values and labels over all of
/// theirs too. What is for training only counts if `training`.
ValueId add_loss(Builder& builder, const Task& task, ValueId outputs, ValueId targets,
                 bool training);

}  // namespace syrtos::nn

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
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

/// A loss of the user's own, made of operations. Its text is how job files, checkpoints and other
/// processes have it. Safe from several threads.
class OwnLoss {
 public:
  /// As loss_text() says. Throws RequestError.
  explicit OwnLoss(std::string_view json);
  ~OwnLoss();

  const std::string& text() const { return text_; }
  /// The same for targets that are known: classes, values or labels.
  std::shared_ptr<const OwnLoss> with(std::string_view of) const;
  /// "classes", "values" or "labels": what its targets are; empty: what the data has.
  const std::string& of() const { return of_; }
  /// [1]: the mean over all that it gives for the samples. `targets`: [N,outputs] f32, of classes
  /// their shares.
  ValueId add_to(Builder& builder, ValueId outputs, ValueId targets) const;
  /// The same of one sample, in double precision.
  double value(std::span<const float> outputs, std::span<const double> targets) const;

 private:
  struct Parts;
  struct Sample;
  std::string text_;
  std::string of_;
  std::unique_ptr<const Parts> parts_;
  mutable std::mutex mutex_;
  mutable std::map<size_t, std::unique_ptr<const Sample>> samples_;  ///< By outputs, once used.
};

/// What a network learns of a teacher beside the labels (Hinton et al. 2015):
///   (1 - share) * cross_entropy(label, p) + share * T^2 * cross_entropy(taught, p_T)
/// where p_T is the softmax of the scores divided by T, as `taught` is of the teacher's. T^2 keeps
/// the gradient's size whatever T is.
struct Teaching {
  double share = 0;  ///< 0: there is no teacher
  double temperature = 1;

  bool operator==(const Teaching&) const = default;
};

/// What a network learns: the outputs are scores of classes, values, or scores of labels.
struct Task {
  Loss loss = Loss::cross_entropy;
  float delta = 1;                        ///< of huber
  double label_smoothing = 0;             ///< of cross_entropy, in training only, as the next
  std::vector<float> class_weights = {};  ///< one for each class, or none
  bool mixed = false;  ///< targets are shares of all classes, not the number of one
  /// With a teacher, of `mixed`: behind the shares stand the teacher's probabilities.
  Teaching teaching = {};
  /// In place of the loss, which then says what the targets are alone; nullptr: none.
  std::shared_ptr<const OwnLoss> own = nullptr;
  /// Of values: what is learnt is (value - mean) / deviation, one each; none: what they are.
  std::vector<float> mean = {};
  std::vector<float> deviation = {};

  bool has_classes() const { return loss == Loss::cross_entropy; }
  bool has_labels() const { return loss == Loss::binary_cross_entropy; }
  bool has_values() const { return !has_classes() && !has_labels(); }
  /// Numbers that a sample's target consists of, for so many outputs.
  int64_t target_values(int64_t outputs) const {
    return has_classes() && !mixed ? 1 : has_teacher() ? 2 * outputs : outputs;
  }
  bool has_teacher() const { return teaching.share > 0; }

  bool operator==(const Task& other) const;
};

/// The loss as options name it: "cross-entropy", "huber:0.5", or an own one's description:
///
///   {"of": "values",
///    "layers": [{"op": "subtract", "name": "d", "of": ["output", "target"]},
///               {"op": "abs", "name": "a", "of": ["d"]}]}
///
/// Layers are those of described.h without weights, of what the network gives (scores before a
/// softmax or sigmoid) and of the targets, [batch, outputs] both; the last one's values are the
/// loss, and their mean over batch and all else is learnt. With "parts": [{"name": "age", "shape":
/// [1]}, ...] they are "output.age", "target.age" and so on. "of": "classes" (targets are 1 for the
/// class and 0 for the others), "values" or "labels"; without it, what the data has.
std::string loss_text(const Task& task);
/// The same for people, who know what their own is.
std::string loss_name(const Task& task);
/// Puts what such a text says into a task. Throws RequestError that lists what there is.
Task parse_loss(std::string_view text);

/// Adds the targets' input: "labels" [N] s32, or "targets" [N,target_values()] f32.
ValueId add_targets(graph::Graph& graph, const Task& task, int64_t batch, int64_t outputs);
/// The loss [1] of outputs [N,outputs], f32: a mean over samples, of values and labels over all of
/// theirs too. What is for training only counts if `training`.
ValueId add_loss(Builder& builder, const Task& task, ValueId outputs, ValueId targets,
                 bool training);

}  // namespace syrtos::nn

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "syrtos/data/target.h"
#include "syrtos/nn/task.h"

// What the outputs of a network say, as its task has it.

namespace syrtos::train {

/// Index of the largest; the first of equals.
int64_t argmax(std::span<const float> values);

/// Whether fewer than `k` values are larger than the label's.
bool among_top(std::span<const float> logits, int32_t label, int k);

/// Softmax of one row, in double precision.
std::vector<double> probabilities(std::span<const float> logits);

/// What one sample's outputs say: probabilities of classes or of labels, or values in the unit of
/// the data.
std::vector<double> answers(const nn::Task& task, std::span<const float> outputs);

/// Outputs that say so: the opposite of answers().
std::vector<float> outputs_of(const nn::Task& task, std::span<const float> answers);

/// A sample's target as the loss takes it: values in the task's scale.
double scaled_target(const nn::Task& task, const data::Target& target, size_t value);

/// How far one sample's outputs are from its target: the task's loss, without what is for training
/// alone.
double loss_of(const nn::Task& task, std::span<const float> outputs, const data::Target& target);

/// Added up over the samples of a training batch, what job::training_metric() is the mean of: right
/// classes, shares of right labels, absolute errors in the unit of the data. `targets` as a loader
/// gives them.
double score_of(const nn::Task& task, std::span<const float> outputs,
                std::span<const float> targets, int64_t samples);

}  // namespace syrtos::train

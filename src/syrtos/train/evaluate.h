#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "syrtos/data/dataset.h"
#include "syrtos/train/network.h"

namespace syrtos::train {

struct Evaluation {
  double loss = 0;  ///< mean cross-entropy
  double accuracy = 0;
  int64_t samples = 0;
  double seconds = 0;
};

/// Runs the program over the whole data set; the last batch is filled up and only its real samples
/// count. `should_stop` is asked between batches and ends it early.
Evaluation evaluate(NetworkProgram& network, const data::Dataset& data,
                    const std::function<bool()>& should_stop = {});

/// Index of the largest; the first of equals.
int64_t argmax(std::span<const float> values);

/// How many rows of [labels.size(), classes] have their largest value at the label.
int64_t count_correct(std::span<const float> logits, std::span<const int32_t> labels);

/// Softmax of one row, in double precision.
std::vector<double> probabilities(std::span<const float> logits);

}  // namespace syrtos::train

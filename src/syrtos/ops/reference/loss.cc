#include "syrtos/ops/loss.h"

#include <algorithm>
#include <cmath>

namespace syrtos::ops {

namespace {

/// The probability that a label asks of class c: 1 - smoothing for its own class, plus
/// smoothing / C for every class.
template <typename LossOp>
double target(const LossOp& op, const RefTensor& labels, int64_t row, int64_t c, int64_t classes) {
  const bool own = static_cast<int64_t>(labels[row]) == c;
  return (own ? 1.0 - static_cast<double>(op.smoothing) : 0.0) +
         static_cast<double>(op.smoothing) / static_cast<double>(classes);
}

/// What a sample weighs.
template <typename LossOp>
double weight(const LossOp& op, const RefTensor& labels, int64_t row) {
  return op.class_weights.empty() ? 1.0 : op.class_weights[static_cast<size_t>(labels[row])];
}

}  // namespace

// loss = -1/N * sum of weight * target * log p
void CrossEntropy::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                             const Step& /*step*/) const {
  const RefTensor& log_p = inputs[0];
  const int64_t rows = log_p.shape[0];
  const int64_t classes = log_p.shape[1];
  double sum = 0;
  for (int64_t i = 0; i < rows * classes; ++i) {
    sum -= weight(*this, inputs[1], i / classes) *
           target(*this, inputs[1], i / classes, i % classes, classes) * log_p[i];
  }
  outputs[0][0] = sum / static_cast<double>(rows);
}

// diff = -diff_loss / N * weight * target
void CrossEntropyBackward::reference(std::span<const RefTensor> inputs,
                                     std::span<RefTensor> outputs, const Step& /*step*/) const {
  const int64_t rows = type.shape[0];
  const int64_t classes = type.shape[1];
  for (int64_t i = 0; i < rows * classes; ++i) {
    outputs[0][i] = -inputs[1][0] / static_cast<double>(rows) *
                    weight(*this, inputs[0], i / classes) *
                    target(*this, inputs[0], i / classes, i % classes, classes);
  }
}

// log p = x - log of the sum of exp(x); loss = -1/N * sum of target * log p; probabilities exp(log
// p)
void SoftmaxCrossEntropy::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                                    const Step& /*step*/) const {
  const RefTensor& logits = inputs[0];
  const int64_t rows = logits.shape[0];
  const int64_t classes = logits.shape[1];
  double loss = 0;
  for (int64_t row = 0; row < rows; ++row) {
    double largest = logits[row * classes];
    for (int64_t c = 1; c < classes; ++c) largest = std::max(largest, logits[row * classes + c]);
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(logits[row * classes + c] - largest);
    for (int64_t c = 0; c < classes; ++c) {
      const double log_p = logits[row * classes + c] - largest - std::log(sum);
      loss -= weight(*this, inputs[1], row) * target(*this, inputs[1], row, c, classes) * log_p;
      outputs[1][row * classes + c] = std::exp(log_p);
    }
  }
  outputs[0][0] = loss / static_cast<double>(rows);
}

// diff_logits = diff_loss / N * weight * (p - target)
void SoftmaxCrossEntropyBackward::reference(std::span<const RefTensor> inputs,
                                            std::span<RefTensor> outputs,
                                            const Step& /*step*/) const {
  const RefTensor& probabilities = inputs[0];
  const int64_t rows = probabilities.shape[0];
  const int64_t classes = probabilities.shape[1];
  for (int64_t i = 0; i < rows * classes; ++i) {
    const double asked = target(*this, inputs[1], i / classes, i % classes, classes);
    outputs[0][i] = inputs[2][0] / static_cast<double>(rows) *
                    weight(*this, inputs[1], i / classes) * (probabilities[i] - asked);
  }
}

// loss = 1/N * sum of 1/2 (prediction - target)^2
void HalfSquaredError::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                                 const Step& /*step*/) const {
  double sum = 0;
  for (int64_t i = 0; i < inputs[0].shape.elements(); ++i) {
    const double difference = inputs[0][i] - inputs[1][i];
    sum += 0.5 * difference * difference;
  }
  outputs[0][0] = sum / static_cast<double>(inputs[0].shape[0]);
}

// diff_prediction = diff_loss / N * (prediction - target)
void HalfSquaredErrorBackward::reference(std::span<const RefTensor> inputs,
                                         std::span<RefTensor> outputs, const Step& /*step*/) const {
  const auto rows = static_cast<double>(inputs[0].shape[0]);
  for (int64_t i = 0; i < inputs[0].shape.elements(); ++i) {
    outputs[0][i] = inputs[2][0] / rows * (inputs[0][i] - inputs[1][i]);
  }
}

// loss = factor / 2 * sum of weights^2
void L2Penalty::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                          const Step& /*step*/) const {
  double sum = 0;
  for (const double weight : inputs[0].values) sum += weight * weight;
  outputs[0][0] = static_cast<double>(factor) / 2 * sum;
}

// diff = diff_loss * factor * weights
void L2PenaltyBackward::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                                  const Step& /*step*/) const {
  for (int64_t i = 0; i < inputs[0].shape.elements(); ++i) {
    outputs[0][i] = inputs[1][0] * static_cast<double>(factor) * inputs[0][i];
  }
}

}  // namespace syrtos::ops

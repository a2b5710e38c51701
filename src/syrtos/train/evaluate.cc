#include "syrtos/train/evaluate.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "syrtos/base/error.h"

namespace syrtos::train {

namespace {

double cross_entropy(std::span<const float> logits, int32_t label) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - top);
  return std::log(sum) + top - logits[static_cast<size_t>(label)];
}

}  // namespace

int64_t argmax(std::span<const float> values) {
  return std::max_element(values.begin(), values.end()) - values.begin();
}

int64_t count_correct(std::span<const float> logits, std::span<const int32_t> labels) {
  const size_t classes = labels.empty() ? 0 : logits.size() / labels.size();
  int64_t correct = 0;
  for (size_t n = 0; n < labels.size(); ++n) {
    correct += argmax(logits.subspan(n * classes, classes)) == labels[n] ? 1 : 0;
  }
  return correct;
}

std::vector<double> probabilities(std::span<const float> logits) {
  const double top = *std::max_element(logits.begin(), logits.end());
  std::vector<double> result;
  double sum = 0;
  for (const float logit : logits) sum += result.emplace_back(std::exp(logit - top));
  for (double& value : result) value /= sum;
  return result;
}

Evaluation evaluate(NetworkProgram& network, const data::Dataset& data,
                    const std::function<bool()>& should_stop) {
  const auto start = std::chrono::steady_clock::now();
  const int64_t batch = network.batch();
  const auto classes = static_cast<size_t>(network.classes());
  const data::BatchView inputs = network.inputs();
  std::vector<int64_t> indices(static_cast<size_t>(batch));
  Evaluation result;
  double loss = 0;
  int64_t correct = 0;
  for (int64_t first = 0; first < data.size(); first += batch) {
    if (should_stop && should_stop()) break;
    for (int64_t n = 0; n < batch; ++n) {
      indices[static_cast<size_t>(n)] = std::min(first + n, data.size() - 1);
    }
    data.fill(indices, inputs);
    network.program().run({});
    const auto valid = static_cast<size_t>(std::min(batch, data.size() - first));
    const std::span<const float> logits = network.logits();
    correct += count_correct(logits.first(valid * classes), inputs.labels.first(valid));
    for (size_t n = 0; n < valid; ++n) {
      loss += cross_entropy(logits.subspan(n * classes, classes), inputs.labels[n]);
    }
    result.samples += static_cast<int64_t>(valid);
  }
  const auto samples = static_cast<double>(std::max<int64_t>(1, result.samples));
  result.loss = loss / samples;
  result.accuracy = static_cast<double>(correct) / samples;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace syrtos::train

#include "syrtos/train/network/outputs.h"

#include <algorithm>
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

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// -t log s(x) - (1 - t) log(1 - s(x)), without large powers.
double binary_cross_entropy(double x, double target) {
  return std::max(x, 0.0) - x * target + std::log1p(std::exp(-std::abs(x)));
}

double element_loss(const nn::Task& task, double output, double target) {
  const double off = std::abs(output - target);
  switch (task.loss) {
    case nn::Loss::squared_error:
      return off * off / 2;
    case nn::Loss::absolute_error:
      return off;
    case nn::Loss::huber: {
      const double delta = task.delta;
      return off <= delta ? off * off / 2 : delta * (off - delta / 2);
    }
    case nn::Loss::binary_cross_entropy:
      return binary_cross_entropy(output, target);
    case nn::Loss::cross_entropy:
      break;
  }
  SYRTOS_CHECK(false, "a loss of classes");
  return 0;
}

double deviation_of(const nn::Task& task, size_t value) {
  return task.deviation.empty() ? 1 : task.deviation[value];
}

}  // namespace

int64_t argmax(std::span<const float> values) {
  return std::max_element(values.begin(), values.end()) - values.begin();
}

bool among_top(std::span<const float> logits, int32_t label, int k) {
  const float own = logits[static_cast<size_t>(label)];
  return std::count_if(logits.begin(), logits.end(), [&](float v) { return v > own; }) < k;
}

std::vector<double> probabilities(std::span<const float> logits) {
  const double top = *std::max_element(logits.begin(), logits.end());
  std::vector<double> result;
  double sum = 0;
  for (const float logit : logits) sum += result.emplace_back(std::exp(logit - top));
  for (double& value : result) value /= sum;
  return result;
}

std::vector<double> answers(const nn::Task& task, std::span<const float> outputs) {
  if (task.has_classes()) return probabilities(outputs);
  std::vector<double> result(outputs.begin(), outputs.end());
  for (size_t k = 0; k < result.size(); ++k) {
    result[k] = task.has_labels()   ? sigmoid(result[k])
                : task.mean.empty() ? result[k]
                                    : result[k] * task.deviation[k] + task.mean[k];
  }
  return result;
}

std::vector<float> outputs_of(const nn::Task& task, std::span<const float> answers) {
  constexpr double kLeast = 1e-12;  // of a vote nothing may be left
  std::vector<float> outputs;
  for (size_t k = 0; k < answers.size(); ++k) {
    const double answer = answers[k];
    const double p = std::clamp(answer, kLeast, 1.0);
    const double output = task.has_classes()  ? std::log(p)
                          : task.has_labels() ? std::log(p / std::max(kLeast, 1 - p))
                          : task.mean.empty() ? answer
                                              : (answer - task.mean[k]) / task.deviation[k];
    outputs.push_back(static_cast<float>(output));
  }
  return outputs;
}

double scaled_target(const nn::Task& task, const data::Target& target, size_t value) {
  const double found = target.values[value];
  return task.mean.empty() ? found : (found - task.mean[value]) / task.deviation[value];
}

namespace {

double own_loss_of(const nn::Task& task, std::span<const float> outputs,
                   const data::Target& target) {
  std::vector<double> targets(outputs.size());
  for (size_t k = 0; k < outputs.size(); ++k) {
    targets[k] = task.has_classes() ? (static_cast<size_t>(target.label) == k ? 1 : 0)
                                    : scaled_target(task, target, k);
  }
  return task.own->value(outputs, targets);
}

}  // namespace

double loss_of(const nn::Task& task, std::span<const float> outputs, const data::Target& target) {
  if (task.own) return own_loss_of(task, outputs, target);
  if (task.has_classes()) return cross_entropy(outputs, target.label);
  double sum = 0;
  for (size_t k = 0; k < outputs.size(); ++k) {
    sum += element_loss(task, outputs[k], scaled_target(task, target, k));
  }
  return sum / static_cast<double>(outputs.size());
}

namespace {

/// Of a sample without a label it is the teacher's.
int64_t wanted_class(const nn::Task& task, std::span<const float> target, size_t classes) {
  if (!task.mixed) return static_cast<int64_t>(target[0]);
  const std::span<const float> shares = target.first(classes);
  const int64_t best = argmax(shares);
  const bool known = shares[static_cast<size_t>(best)] > 0;
  return known || !task.has_teacher() ? best : argmax(target.last(classes));
}

}  // namespace

double score_of(const nn::Task& task, std::span<const float> outputs,
                std::span<const float> targets, int64_t samples) {
  const auto count = static_cast<size_t>(samples);
  const size_t width = outputs.size() / std::max<size_t>(1, count);
  const size_t each = targets.size() / std::max<size_t>(1, count);
  double sum = 0;
  for (size_t n = 0; n < count; ++n) {
    const std::span<const float> row = outputs.subspan(n * width, width);
    const std::span<const float> target = targets.subspan(n * each, each);
    if (task.has_classes()) {
      sum += argmax(row) == wanted_class(task, target, width) ? 1 : 0;
      continue;
    }
    double of_row = 0;
    for (size_t k = 0; k < width; ++k) {
      of_row += task.has_labels() ? ((row[k] > 0) == (target[k] > 0.5F) ? 1.0 : 0.0)
                                  : std::abs(row[k] - target[k]) * deviation_of(task, k);
    }
    sum += of_row / static_cast<double>(width);
  }
  return sum;
}

}  // namespace syrtos::train

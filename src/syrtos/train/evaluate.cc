#include "syrtos/train/evaluate.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"

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

bool among_top(std::span<const float> logits, int32_t label, int k) {
  const float own = logits[static_cast<size_t>(label)];
  return std::count_if(logits.begin(), logits.end(), [&](float v) { return v > own; }) < k;
}

std::vector<View> parse_views(std::string_view name) {
  const auto view = [](bool flip, int64_t move, float weight) {
    return View{{.down = move, .right = move, .beyond = data::Beyond::reflected, .flip = flip},
                weight};
  };
  if (name == "none") return {view(false, 0, 1)};
  if (name == "flip") return {view(false, 0, 0.5F), view(true, 0, 0.5F)};
  if (name == "flip+shift") {
    std::vector<View> views = {view(false, 0, 0.25F), view(true, 0, 0.25F)};
    for (const int64_t move : {-1, 1}) {
      for (const bool flip : {false, true}) views.push_back(view(flip, move, 0.125F));
    }
    return views;
  }
  fail_request("--views: expected none, flip or flip+shift, found '{}'{}", name,
               suggestion(name, {"none", "flip", "flip+shift"}));
}

Evaluation evaluate(NetworkProgram& network, const TestData& test,
                    const std::function<bool()>& should_stop) {
  const auto start = std::chrono::steady_clock::now();
  const auto classes = static_cast<size_t>(network.classes());
  const data::BatchView inputs = network.inputs();
  std::vector<float> sums(static_cast<size_t>(test.data.size()) * classes);
  Evaluation result;
  for (const View& view : test.views) {
    data::Loader loader(test.data, test.transform,
                        {.batch = network.batch(),
                         .training = false,
                         .view = view.placement,
                         .prefetch = test.prefetch});
    result.samples = 0;
    while (result.samples < test.data.size()) {
      if (should_stop && should_stop()) break;
      const data::Batch batch = loader.next(inputs);
      network.program().run({});
      const std::span<const float> logits = network.logits();
      float* to = sums.data() + static_cast<size_t>(result.samples) * classes;
      const auto values = static_cast<size_t>(batch.slice.count) * classes;
      for (size_t i = 0; i < values; ++i) to[i] += view.weight * logits[i];
      result.samples += batch.slice.count;
    }
  }
  double loss = 0;
  int64_t correct = 0;
  int64_t top5 = 0;
  for (int64_t n = 0; n < result.samples; ++n) {
    const std::span<const float> logits(sums.data() + static_cast<size_t>(n) * classes, classes);
    const int32_t label = test.data.label(n);
    loss += cross_entropy(logits, label);
    correct += argmax(logits) == label ? 1 : 0;
    top5 += among_top(logits, label, 5) ? 1 : 0;
  }
  const auto samples = static_cast<double>(std::max<int64_t>(1, result.samples));
  result.loss = loss / samples;
  result.accuracy = static_cast<double>(correct) / samples;
  result.top5 = static_cast<double>(top5) / samples;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace syrtos::train

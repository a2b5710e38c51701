#include "syrtos/optim/optimizer.h"

#include <algorithm>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/base/parallel.h"
#include "syrtos/optim/sweep.h"

namespace syrtos::optim {

namespace {

struct MethodInfo {
  Method method;
  const char* name;
  double learning_rate;
  double epsilon;
  std::vector<std::string> slots;
};

const std::vector<MethodInfo>& methods() {
  static const std::vector<MethodInfo> table = {
      {Method::sgd, "sgd", 0.01, 0, {}},
      {Method::momentum, "momentum", 0.01, 0, {"momentum"}},
      {Method::nesterov, "nesterov", 0.01, 0, {"momentum"}},
      {Method::adam, "adam", 0.001, 1e-8, {"moment1", "moment2"}},
      {Method::adamw, "adamw", 0.001, 1e-8, {"moment1", "moment2"}},
      {Method::adagrad, "adagrad", 0.01, 1e-10, {"squares"}},
      {Method::adadelta, "adadelta", 1.0, 1e-6, {"squares", "deltas"}},
  };
  return table;
}

const MethodInfo& info(Method method) { return methods()[static_cast<size_t>(method)]; }

// Small enough for the first cache, so that rounding finds the weights there.
constexpr int64_t kBlock = 2048;
// Elements from which on the arenas do not stay in a core's caches until the next pass.
constexpr int64_t kStreamFrom = int64_t{1} << 20;
// Below this a second thread costs more than it brings.
constexpr int64_t kSerialBelow = 32768;

using Kernel = void (*)(const Sweep&);

Kernel kernel_of(Method method) {
  const SweepKernels& kernels = sweep_kernels();
  switch (method) {
    case Method::sgd:
      return kernels.sgd;
    case Method::momentum:
      return kernels.momentum;
    case Method::nesterov:
      return kernels.nesterov;
    case Method::adam:
    case Method::adamw:
      return kernels.adam;
    case Method::adagrad:
      return kernels.adagrad;
    case Method::adadelta:
      return kernels.adadelta;
  }
  return nullptr;
}

Sweep coefficients(const OptimizerOptions& options, const Hyper& hyper) {
  Sweep sweep;
  sweep.gradient_scale = static_cast<float>(hyper.gradient_scale);
  sweep.epsilon = static_cast<float>(options.epsilon);
  switch (options.method) {
    case Method::sgd:
    case Method::adagrad:
      break;
    case Method::momentum:
    case Method::nesterov:
      sweep.a = static_cast<float>(options.momentum);
      break;
    case Method::adam:
    case Method::adamw: {
      const auto t = static_cast<double>(hyper.step + 1);
      sweep.a = static_cast<float>(options.beta1);
      sweep.b = static_cast<float>(options.beta2);
      sweep.root = static_cast<float>(1 / std::sqrt(1 - std::pow(options.beta2, t)));
      break;
    }
    case Method::adadelta:
      sweep.a = static_cast<float>(options.rho);
      break;
  }
  return sweep;
}

// The learning rate, with adam's correction of the first moment.
double corrected_rate(const OptimizerOptions& options, const Hyper& hyper) {
  const bool adam = options.method == Method::adam || options.method == Method::adamw;
  if (!adam) return hyper.learning_rate;
  return hyper.learning_rate / (1 - std::pow(options.beta1, static_cast<double>(hyper.step + 1)));
}

}  // namespace

const char* to_string(Method method) { return info(method).name; }

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const MethodInfo& method : methods()) names.emplace_back(method.name);
  return names;
}

Method parse_method(std::string_view name) {
  for (const MethodInfo& method : methods()) {
    if (name == method.name) return method.method;
  }
  fail_request("unknown optimizer '{}'{}", name, suggestion(name, method_names()));
}

double default_learning_rate(Method method) { return info(method).learning_rate; }
double default_epsilon(Method method) { return info(method).epsilon; }

void check(const OptimizerOptions& options) {
  const auto in_unit = [](const char* name, double value) {
    if (!(value >= 0 && value < 1)) {
      fail_request("--{}: expected 0 to below 1, found {}", name, value);
    }
  };
  in_unit("momentum", options.momentum);
  in_unit("beta1", options.beta1);
  in_unit("beta2", options.beta2);
  in_unit("rho", options.rho);
  if (!(options.epsilon >= 0)) {
    fail_request("--epsilon: expected above 0 (or 0 for the method's own), found {}",
                 options.epsilon);
  }
}

std::vector<Segment> merged(std::span<const Segment> segments) {
  std::vector<Segment> result(segments.begin(), segments.end());
  std::sort(result.begin(), result.end(),
            [](const Segment& a, const Segment& b) { return a.offset < b.offset; });
  size_t kept = 0;
  for (size_t i = 1; i < result.size(); ++i) {
    Segment& last = result[kept];
    SYRTOS_CHECK(last.offset + last.elements <= result[i].offset, "segments overlap at {}",
                 result[i].offset);
    if (last.same_rule(result[i]) && last.offset + last.elements == result[i].offset) {
      last.elements += result[i].elements;
    } else {
      result[++kept] = result[i];
    }
  }
  if (!result.empty()) result.resize(kept + 1);
  return result;
}

Optimizer::Optimizer(const OptimizerOptions& options, size_t elements)
    : options_(options), elements_(elements) {
  check(options);
  if (options_.epsilon == 0) options_.epsilon = default_epsilon(options_.method);
  for (const std::string& name : info(options_.method).slots) {
    slots_.push_back({name, Buffer(elements * sizeof(float), "the optimizer's " + name)});
  }
}

void Optimizer::update(std::span<float> weights, std::span<const float> gradients,
                       std::span<BFloat16> working, std::span<const Segment> segments,
                       const Hyper& hyper) {
  SYRTOS_CHECK(gradients.size() == elements_, "{} {}", elements_, gradients.size());
  update_elements(weights, gradients, 0, working, segments, hyper);
}

void Optimizer::update_part(std::span<float> weights, std::span<const float> gradients,
                            size_t first, std::span<const Segment> segments, const Hyper& hyper) {
  update_elements(weights, gradients, first, {}, segments, hyper);
}

void Optimizer::update_elements(std::span<float> weights, std::span<const float> gradients,
                                size_t first, std::span<BFloat16> working,
                                std::span<const Segment> segments, const Hyper& hyper) {
  SYRTOS_CHECK(weights.size() == elements_ && first + gradients.size() <= elements_, "{} {} {} {}",
               elements_, weights.size(), first, gradients.size());
  SYRTOS_CHECK(working.empty() || working.size() == elements_, "{}", working.size());
  const Kernel kernel = kernel_of(options_.method);
  const auto round = sweep_kernels().round;
  const Sweep common = coefficients(options_, hyper);
  const double common_rate = corrected_rate(options_, hyper);
  const bool decoupled = options_.method == Method::adamw;
  const auto offset = static_cast<int64_t>(first);

  const bool stream = static_cast<int64_t>(gradients.size()) >= kStreamFrom;
  const auto sweep_range = [&](const Segment& segment, int64_t begin, int64_t end) {
    Sweep sweep = common;
    const double decay = hyper.weight_decay * segment.decay;
    sweep.rate = static_cast<float>(common_rate * segment.rate);
    if (decoupled) {
      sweep.shrink = static_cast<float>(1 - hyper.learning_rate * segment.rate * decay);
    } else {
      sweep.decay = static_cast<float>(decay);
    }
    for (int64_t at = begin; at < end; at += kBlock) {
      sweep.n = std::min(kBlock, end - at);
      sweep.weights = weights.data() + at;
      sweep.gradients = gradients.data() + (at - offset);
      if (!slots_.empty()) sweep.slot0 = slots_[0].span().data() + at;
      if (slots_.size() > 1) sweep.slot1 = slots_[1].span().data() + at;
      kernel(sweep);
      if (!working.empty()) {
        round(sweep.weights, &working[static_cast<size_t>(at)].bits, sweep.n, stream);
      }
    }
  };

  // Threads share the arena, not each segment, so that one parallel region serves all.
  parallel_for(
      static_cast<int64_t>(gradients.size()), kBlock, kSerialBelow, [&](int64_t from, int64_t to) {
        const int64_t begin = offset + from;
        const int64_t end = offset + to;
        for (const Segment& segment : segments) {
          const auto segment_begin = static_cast<int64_t>(segment.offset);
          const auto segment_end = segment_begin + static_cast<int64_t>(segment.elements);
          if (segment_begin < end && segment_end > begin) {
            sweep_range(segment, std::max(segment_begin, begin), std::min(segment_end, end));
          }
        }
      });
  updates_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace syrtos::optim

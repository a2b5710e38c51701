#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/tensor/buffer.h"
#include "syrtos/tensor/dtype.h"

namespace syrtos::optim {

enum class Method { sgd, momentum, nesterov, adam, adamw, adagrad, adadelta };

const char* to_string(Method method);
/// "sgd", "momentum", "nesterov", "adam", "adamw", "adagrad", "adadelta".
std::vector<std::string> method_names();
/// Throws RequestError naming the closest known method.
Method parse_method(std::string_view name);

/// What stays the same during a run. Only what the method uses matters.
struct OptimizerOptions {
  Method method = Method::momentum;
  double momentum = 0.9;  ///< momentum, nesterov
  double beta1 = 0.9;     ///< adam, adamw
  double beta2 = 0.999;   ///< adam, adamw
  double rho = 0.9;       ///< adadelta
  double epsilon = 0;     ///< 0: default_epsilon(method)
};

double default_learning_rate(Method method);
double default_epsilon(Method method);
/// Throws RequestError when an option is outside of its range.
void check(const OptimizerOptions& options);

/// What may change from step to step.
struct Hyper {
  double learning_rate = 0;
  double weight_decay = 0;
  double gradient_scale = 1;  ///< gradients are multiplied by it first: clipping, loss scaling
  int64_t step = 0;           ///< from 0
};

/// A slice of the arenas and how it is trained.
struct Segment {
  size_t offset = 0;  ///< in elements
  size_t elements = 0;
  float decay = 0;  ///< times the weight decay
  float rate = 1;   ///< times the learning rate

  bool same_rule(const Segment& other) const { return decay == other.decay && rate == other.rate; }
};

/// Neighbours that are treated alike become one, so that a sweep has few edges.
std::vector<Segment> merged(std::span<const Segment> segments);

/// Updates all parameters in one sweep over their arena: each element of weights, gradients and
/// slots is read once and written once, and the bf16 copy that kernels compute with is rounded in
/// the same pass. The formulas are PyTorch's; weight decay is added to the gradient (L2), except
/// for adamw, which shrinks the weights themselves.
/// Padding (weight 0, gradient 0) stays 0. The result does not depend on the number of threads.
/// Several threads may update the same weights at once and lose some of each other's changes
/// (--exchange shared).
class Optimizer {
 public:
  /// Momentum and the like: an arena of the weights' shape.
  struct Slot {
    std::string name;
    Buffer values;
    std::span<float> span() const { return {values.as<float>(), values.size() / 4}; }
  };

  Optimizer(const OptimizerOptions& options, size_t elements);

  /// `working` is empty or as long as the weights. Segments must not overlap; what they do not
  /// cover is left alone.
  void update(std::span<float> weights, std::span<const float> gradients,
              std::span<BFloat16> working, std::span<const Segment> segments, const Hyper& hyper);
  /// The same where only a part of the arena has gradients: they belong to the elements from
  /// `first` on, and all segments lie among those. The weights are the whole arena's.
  void update_part(std::span<float> weights, std::span<const float> gradients, size_t first,
                   std::span<const Segment> segments, const Hyper& hyper);

  /// So far, of all threads.
  int64_t updates() const { return updates_.load(std::memory_order_relaxed); }
  const OptimizerOptions& options() const { return options_; }
  const std::vector<Slot>& slots() const { return slots_; }

 private:
  void update_elements(std::span<float> weights, std::span<const float> gradients, size_t first,
                       std::span<BFloat16> working, std::span<const Segment> segments,
                       const Hyper& hyper);

  OptimizerOptions options_;
  size_t elements_;
  std::vector<Slot> slots_;
  std::atomic<int64_t> updates_{0};
};

}  // namespace syrtos::optim

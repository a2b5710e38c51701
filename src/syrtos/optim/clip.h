#pragma once

#include <span>
#include <vector>

namespace syrtos::optim {

/// The L2 norm of a whole arena. It is summed in blocks of fixed size and in double precision, so
/// that the result does not depend on the number of threads. Allocates only when made.
class GlobalNorm {
 public:
  explicit GlobalNorm(size_t elements);
  double operator()(std::span<const float> values);

 private:
  std::vector<double> blocks_;
};

/// What gradients are multiplied by so that their norm is at most `limit`; 1 when it is already.
double clip_scale(double norm, double limit);

}  // namespace syrtos::optim

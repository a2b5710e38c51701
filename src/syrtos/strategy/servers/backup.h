#pragma once

#include <vector>

#include "syrtos/strategy/servers/free.h"

namespace syrtos::strategy {

/// Synchronous training with backup workers (--sync backup:B): a step takes the first N - B
/// gradients.
///
///   for each worker and piece, for each gradient that comes:
///     if the piece has taken this step already: drop the gradient
///     else: sum += gradient
///       if it is the (N - B)-th one: weights = update(weights, sum / weight of its gradients),
///         sum = 0, let the others go on
///       else wait for that
///     send the weights
///
/// Steps, not versions of the piece, are compared: then every piece takes the same steps, and no
/// piece waits for gradients of workers that have taken their last one. Where fewer than N - B
/// workers are left, all of them are enough; those without samples count as arrived, but a step
/// needs one that has some, if it can come.
class FirstGradients final : public FreePolicy {
 public:
  explicit FirstGradients(const ServerTools& tools);

 private:
  struct Sum {
    std::vector<float> values;
    double weight = 0;  ///< of the gradients in it
    int64_t arrived = 0;
    bool updating = false;  ///< it is enough for this step, and nothing is added any more
  };

  Task<> take(Rank worker, ServedPiece& piece, const Push& push, const std::vector<float>& gradient,
              Pull& pull) override;
  int64_t first_version(const Push& push) const override { return push.step; }
  void count_in(const ServedPiece& piece, const Push& push, const std::vector<float>& gradient,
                Pull& pull);
  bool enough(const ServedPiece& piece) const;
  Task<> take_step(ServedPiece& piece, const Push& push);

  std::vector<Sum> sums_;  // of each piece
};

}  // namespace syrtos::strategy

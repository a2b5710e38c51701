#pragma once

#include <array>
#include <vector>

#include "syrtos/strategy/servers/policy.h"

namespace syrtos::strategy {

/// Synchronous training (--sync join and split): every step sees the gradients of all workers.
///
///   for each piece, for each round:
///     for each worker, beside each other:
///       receive a gradient, adding it to the sum as it arrives
///       if it is the last one of the round:
///         --update server: weights = update(weights, sum / N); --update worker: sum = sum / N
///         let the others go on
///       else wait for that
///       send the weights (--update worker: the mean gradient)
///
/// Rounds alternate between two sums: while the replies of one are on their way, the gradients of
/// the next may arrive.
class SumOfAll final : public ServerPolicy {
 public:
  explicit SumOfAll(const ServerTools& tools);

  Task<> talk(Rank worker, ServedPiece& piece) override;

 private:
  struct Sum {
    std::vector<float> values;
    std::vector<uint16_t> packed;  ///< what is sent, in bf16
    int arrived = 0;
    int replied = 0;
    double complete_at = 0;  ///< moment of the last gradient
    std::shared_ptr<world::Event> done;
  };

  Task<> finish(ServedPiece& piece, Sum& sum, const Push& push);
  world::Source reply_of(const ServedPiece& piece, const Sum& sum) const;

  std::vector<std::array<Sum, 2>> sums_;  // of each piece
};

}  // namespace syrtos::strategy

#pragma once

#include <vector>

#include "syrtos/strategy/servers/free.h"

namespace syrtos::strategy {

/// Asynchronous training (--sync async and ssp:S): each gradient is an update of its own.
///
///   for each worker and piece, for each gradient that comes:
///     weights = update(weights, gradient), at once
///     ssp: wait until the slowest worker is at most S steps behind this one
///     send the weights
///
/// Lost and resting workers are not waited for.
class UpdateOnArrival final : public FreePolicy {
 public:
  explicit UpdateOnArrival(const ServerTools& tools);

 private:
  Task<> take(Rank worker, ServedPiece& piece, const Push& push, const std::vector<float>& gradient,
              Pull& pull) override;
  int64_t first_version(const Push& push) const override { return push.updates; }
  /// The worker is not too far ahead of the others.
  bool may_go_on(Rank worker, const ServedPiece& piece, int64_t slack) const;

  std::vector<std::vector<int64_t>> steps_;  // of each piece: that each worker has taken
};

}  // namespace syrtos::strategy

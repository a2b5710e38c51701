#pragma once

#include <cstdint>
#include <span>

#include "syrtos/tensor/buffer.h"
#include "syrtos/tensor/dtype.h"

namespace syrtos::optim {

/// Zhang et al. 2019: slow weights that follow the trained (fast) ones. Every `every` steps they
/// move towards them, and the fast ones start again from there.
class Lookahead {
 public:
  struct Options {
    int64_t every = 5;
    /// Of the slow weights per step at the end of the run; before, it grows with the cube of the
    /// part that is done.
    double decay = 0.95;
  };

  /// Throws RequestError when an option is outside of its range.
  Lookahead(const Options& options, size_t elements);

  /// Slow weights begin where the fast ones are.
  void start(std::span<const float> fast);

  /// Whether slow and fast weights meet after `done` steps (1: the first one has been taken).
  bool due(int64_t done) const { return done > 0 && done % options_.every == 0; }
  /// What the slow weights keep of themselves then: decay^every * (done / total)^3.
  double decay(int64_t done, int64_t total) const;

  /// slow = decay * slow + (1 - decay) * fast; fast = slow, and its rounded copy anew (`working` is
  /// empty or as long as the weights). A decay of 1 ends a run: fast becomes slow.
  /// The result does not depend on the number of threads.
  void update(std::span<float> fast, std::span<BFloat16> working, double decay);

  /// As long as the weights; for checkpoints.
  std::span<float> slow() const { return {slow_.as<float>(), slow_.size() / sizeof(float)}; }

 private:
  Options options_;
  Buffer slow_;
};

}  // namespace syrtos::optim

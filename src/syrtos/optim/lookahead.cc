#include "syrtos/optim/lookahead.h"

#include <algorithm>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/optim/sweep.h"

namespace syrtos::optim {

namespace {
// As in the optimiser's sweep: rounding finds the weights in the first cache.
constexpr int64_t kLookaheadBlock = 2048;
constexpr int64_t kLookaheadSerialBelow = 32768;
}  // namespace

Lookahead::Lookahead(const Options& options, size_t elements)
    : options_(options), slow_(elements * sizeof(float), "the slow weights") {
  if (options.every < 1) {
    fail_request("lookahead must happen every 1 or more steps, found {}", options.every);
  }
  if (!(options.decay >= 0 && options.decay <= 1)) {
    fail_request("the decay of lookahead must be between 0 and 1, found {}", options.decay);
  }
}

void Lookahead::start(std::span<const float> fast) {
  SYRTOS_CHECK(fast.size() == slow().size(), "{} {}", fast.size(), slow().size());
  std::copy(fast.begin(), fast.end(), slow().begin());
}

double Lookahead::decay(int64_t done, int64_t total) const {
  const double part =
      std::min(1.0, static_cast<double>(done) / static_cast<double>(std::max<int64_t>(1, total)));
  return std::pow(options_.decay, static_cast<double>(options_.every)) * part * part * part;
}

void Lookahead::update(std::span<float> fast, std::span<BFloat16> working, double decay) {
  SYRTOS_CHECK(fast.size() == slow().size(), "{} {}", fast.size(), slow().size());
  SYRTOS_CHECK(working.empty() || working.size() == fast.size(), "{}", working.size());
  const SweepKernels& kernels = sweep_kernels();
  const auto part = static_cast<float>(1 - decay);
  float* slow_weights = slow().data();
  parallel_for(static_cast<int64_t>(fast.size()), kLookaheadBlock, kLookaheadSerialBelow,
               [&](int64_t begin, int64_t end) {
                 for (int64_t at = begin; at < end; at += kLookaheadBlock) {
                   const int64_t n = std::min(kLookaheadBlock, end - at);
                   kernels.look_ahead(fast.data() + at, slow_weights + at, part, n);
                   if (working.empty()) continue;
                   kernels.round(fast.data() + at, &working[static_cast<size_t>(at)].bits, n,
                                 false);
                 }
               });
}

}  // namespace syrtos::optim

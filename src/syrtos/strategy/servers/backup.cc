#include "syrtos/strategy/servers/backup.h"

#include <algorithm>

namespace syrtos::strategy {

FirstGradients::FirstGradients(const ServerTools& tools)
    : FreePolicy(tools), sums_(tools.parameters.pieces().size()) {
  for (const ServedPiece& piece : tools.parameters.pieces()) {
    if (tools.world.carries_data()) sums_[piece.index].values.resize(piece.piece.count);
  }
}

Task<> FirstGradients::take(Rank, ServedPiece& piece, const Push& push,
                            const std::vector<float>& gradient, Pull& pull) {
  count_in(piece, push, gradient, pull);
  // Those that wait look at it too: a lost worker can make the rest enough.
  while (piece.version <= push.step) {
    if (!sums_[piece.index].updating && enough(piece)) {
      co_await take_step(piece, push);
      co_return;
    }
    const double before = tools_.world.now();
    co_await changed(piece).wait();
    pull.waited_s += tools_.world.now() - before;
  }
}

void FirstGradients::count_in(const ServedPiece& piece, const Push& push,
                              const std::vector<float>& gradient, Pull& pull) {
  Sum& sum = sums_[piece.index];
  if (push.step < piece.version || sum.updating) {
    pull.late = 1;
    if (push.weight > 0) ++tools_.report.dropped;
    return;
  }
  if (push.weight > 0) {
    const Observed adds(tools_.observer, Part::update);
    for (size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += gradient[i];
  }
  sum.weight += push.weight;
  ++sum.arrived;
}

bool FirstGradients::enough(const ServedPiece& piece) const {
  const Sum& sum = sums_[piece.index];
  const int64_t can_come = active(piece);
  const int64_t needed = std::min(tools_.team.workers - tools_.options.sync.left_out(), can_come);
  return sum.arrived >= needed && (sum.weight > 0 || sum.arrived >= can_come);
}

Task<> FirstGradients::take_step(ServedPiece& piece, const Push& push) {
  Sum& sum = sums_[piece.index];
  sum.updating = true;
  const Observed updates(tools_.observer, Part::update);
  if (sum.weight > 0) {
    co_await tools_.parameters.update(piece, sum.values.data(), 1 / sum.weight, push, push.updates);
  }
  std::fill(sum.values.begin(), sum.values.end(), 0.0F);
  sum.arrived = 0;
  sum.weight = 0;
  sum.updating = false;
  ++piece.version;
  changed(piece).notify_all();
}

}  // namespace syrtos::strategy

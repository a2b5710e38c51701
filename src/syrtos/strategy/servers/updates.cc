#include "syrtos/strategy/servers/updates.h"

namespace syrtos::strategy {

UpdateOnArrival::UpdateOnArrival(const ServerTools& tools)
    : FreePolicy(tools),
      steps_(tools.parameters.pieces().size(),
             std::vector<int64_t>(static_cast<size_t>(tools.team.workers))) {}

Task<> UpdateOnArrival::take(Rank worker, ServedPiece& piece, const Push& push,
                             const std::vector<float>& gradient, Pull& pull) {
  if (push.weight > 0) {
    const Observed updates(tools_.observer, Part::update);
    co_await tools_.parameters.update(piece, gradient.data(), 1, push, piece.version);
    ++piece.version;
  }
  // It counts now, not before: whoever is let go by it gets weights that have seen this gradient.
  ++steps_[piece.index][static_cast<size_t>(worker)];
  changed(piece).notify_all();
  const std::optional<int64_t> slack = tools_.options.sync.slack();
  if (!slack) co_return;
  const double before = tools_.world.now();
  while (!may_go_on(worker, piece, *slack)) co_await changed(piece).wait();
  pull.waited_s = tools_.world.now() - before;
}

bool UpdateOnArrival::may_go_on(Rank worker, const ServedPiece& piece, int64_t slack) const {
  const std::vector<int64_t>& steps = steps_[piece.index];
  const int64_t own = steps[static_cast<size_t>(worker)];
  for (Rank other = 0; other < tools_.team.workers; ++other) {
    if (is_active(other, piece) && own - steps[static_cast<size_t>(other)] > slack) return false;
  }
  return true;
}

}  // namespace syrtos::strategy

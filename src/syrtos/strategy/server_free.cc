// Servers of workers that do not wait for each other: async, ssp and backup.

#include <algorithm>
#include <cstring>

#include "syrtos/strategy/server.h"
#include "syrtos/strategy/wire.h"

namespace syrtos::strategy {

using world::PeerLost;
using world::Source;
using world::Target;

Task<> Server::free_running(Rank worker, Held& held) {
  bool lost = false;
  try {
    co_await free_rounds(worker, held);
  } catch (const PeerLost& error) {
    // Without rank 0 nobody evaluates or saves: then obey() fails.
    if (error.rank() != worker) throw;
    lost = true;
  }
  if (lost) lose(worker);
}

Task<> Server::free_rounds(Rank worker, Held& held) {
  const size_t count = held.piece.count;
  std::vector<float> mine(world_.carries_data() ? count : 0);  // the gradient, then the weights
  std::vector<uint16_t> packed;
  int64_t base = 0;  // version that the worker computes with
  for (uint32_t round = 0;; ++round) {
    Push push;
    co_await listen(worker, header_tag(held.id, round), Target{&push, sizeof(push)});
    if (push.pull_only == 0) {
      if (round == 0) {  // a run that was resumed goes on counting
        base = push.step;
        held.version = std::max(held.version, push.step);
      }
      co_await receive(worker, held, round, push, mine.data(), false);
      const auto stale = static_cast<size_t>(held.version - base);
      ++report_.staleness[std::min(stale, Report::kLargest)];
      if (options_.sync.kind == Sync::Kind::backup) {
        co_await count_in(held, push, mine);
      } else {
        co_await update(held, mine.data(), push, 1);
        ++held.version;
      }
      // Not before: whoever is let go by it gets weights that have seen this gradient.
      ++held.clocks[static_cast<size_t>(worker)];
      held.changed->notify_all();
      if (options_.sync.kind == Sync::Kind::ssp) co_await await_slowest(worker, held);
    }
    base = push.pull_only != 0 ? agree_on(held, push.step) : held.version;
    // Where updates are made, one after the other: never in the middle of one.
    co_await world_.compute(
        0, [&] { copy_weights(held, push, mine); }, update_where());
    Source source{mine.data(), count * sizeof(float)};
    if (options_.wire.kind == Wire::Kind::bf16) {
      pack_bf16({mine.data(), count}, packed);
      source = {packed.data(), count * 2};
    }
    co_await reply(worker, held, round, base, source);
  }
}

// Steps, not versions of the piece, are compared: then every piece takes the same steps, and no
// piece waits for gradients of workers that have taken their last one.
Task<> Server::count_in(Held& held, const Push& push, const std::vector<float>& gradient) {
  Held::Sum& sum = held.sums[0];
  if (push.step < held.version || held.updating) {
    ++report_.dropped;
  } else {
    for (size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += gradient[i];
    ++sum.arrived;
  }
  // Also looked at by those that wait: a lost worker can make the rest enough.
  while (held.version <= push.step) {
    if (!held.updating && sum.arrived >= needed()) {
      held.updating = true;
      co_await update(held, sum.values.data(), push, 1.0 / sum.arrived);
      std::fill(sum.values.begin(), sum.values.end(), 0.0F);
      sum.arrived = 0;
      held.updating = false;
      ++held.version;
      held.changed->notify_all();
      co_return;
    }
    co_await held.changed->wait();
  }
}

/// The first who asks decides for all.
int64_t Server::agree_on(Held& held, int64_t number) {
  if (number > held.agreed.number) {
    held.agreed.number = number;
    held.agreed.version = held.version;
  }
  return held.agreed.version;
}

void Server::copy_weights(Held& held, const Push& push, std::vector<float>& to) const {
  const float* weights = weights_of(held);
  if (weights == nullptr) return;
  if (push.pull_only != 0) {
    if (held.agreed.copied < push.step) {
      held.agreed.copied = push.step;
      held.agreed.weights.assign(weights, weights + held.piece.count);
    }
    weights = held.agreed.weights.data();
  }
  std::memcpy(to.data(), weights, held.piece.count * sizeof(float));
}

Task<> Server::await_slowest(Rank worker, Held& held) {
  while (true) {
    int64_t slowest = held.clocks[static_cast<size_t>(worker)];
    for (size_t other = 0; other < held.clocks.size(); ++other) {
      if (!lost_[other]) slowest = std::min(slowest, held.clocks[other]);
    }
    if (held.clocks[static_cast<size_t>(worker)] - slowest <= options_.sync.number) co_return;
    co_await held.changed->wait();
  }
}

void Server::lose(Rank worker) {
  lost_[static_cast<size_t>(worker)] = true;
  for (Held& held : held_) held.changed->notify_all();
}

int Server::alive() const {
  return static_cast<int>(std::count(lost_.begin(), lost_.end(), false));
}

int64_t Server::needed() const {
  return std::min<int64_t>(team_.workers - options_.sync.number, alive());
}

}  // namespace syrtos::strategy

// Servers of workers that do not wait for each other: async, ssp and backup.

#include <algorithm>
#include <cstring>

#include "syrtos/strategy/server.h"
#include "syrtos/strategy/text.h"
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
  Pull pull;  // the version that the worker computes with
  bool begun = false;
  for (uint32_t round = 0;; ++round) {
    Push push;
    co_await receive_patiently(world_, worker, header_tag(held.id, round),
                               Target{&push, sizeof(push)});
    held.resting[static_cast<size_t>(worker)] = push.ask == Ask::rest;
    if (push.ask == Ask::rest) {
      held.changed->notify_all();
      continue;
    }
    note_step(push);
    if (push.ask == Ask::step) {
      if (!begun) {  // a run that was resumed goes on counting
        pull.version = options_.sync.left_out() > 0 ? push.step : push.updates;
        held.version = std::max(held.version, pull.version);
        begun = true;
      }
      if (push.weight > 0) co_await receive(worker, held, round, push, mine.data(), false);
      pull.waited_s = 0;
      co_await apply(held, push, mine, pull);
      // Not before: whoever is let go by it gets weights that have seen this gradient.
      ++held.clocks[static_cast<size_t>(worker)];
      held.changed->notify_all();
      if (options_.sync.slack()) {
        const double before = world_.now();
        co_await await_slowest(worker, held);
        pull.waited_s = world_.now() - before;
      }
    }
    const bool exact = push.ask == Ask::agreement;
    if (exact) pull.waited_s = 0;
    pull.version = exact ? agree_on(held, push.step) : held.version;
    Source source{mine.data(), count * sizeof(float)};
    {
      const Doing copies(*this, Part::update);
      // Where updates are made, one after the other: never in the middle of one.
      co_await world_.compute(
          0, [&] { copy_weights(held, push, mine); }, update_where());
      if (options_.wire.halves() && !exact) {
        pack_bf16({mine.data(), count}, packed);
        source = {packed.data(), count * 2};
      }
    }
    co_await reply(worker, held, round, pull, source);
  }
}

/// A worker without samples changes nothing: neither decay nor momentum moves the weights for it.
Task<> Server::apply(Held& held, const Push& push, const std::vector<float>& gradient, Pull& pull) {
  pull.late = 0;
  if (push.weight > 0) {
    const auto stale = static_cast<size_t>(held.version - pull.version);
    ++report_.staleness[std::min(stale, Report::kLargest)];
  }
  if (options_.sync.left_out() > 0) {
    co_await count_in(held, push, gradient, pull);
  } else if (push.weight > 0) {
    const Doing updates(*this, Part::update);
    co_await update(held, gradient.data(), push, 1);
    ++held.version;
  }
}

// Steps, not versions of the piece, are compared: then every piece takes the same steps, and no
// piece waits for gradients of workers that have taken their last one.
Task<> Server::count_in(Held& held, const Push& push, const std::vector<float>& gradient,
                        Pull& pull) {
  Held::Sum& sum = held.sums[0];
  if (push.step < held.version || held.updating) {
    pull.late = 1;
    if (push.weight > 0) ++report_.dropped;
  } else {
    if (push.weight > 0) {
      const Doing adds(*this, Part::update);
      for (size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += gradient[i];
    }
    sum.weight += push.weight;
    ++sum.arrived;
  }
  // Also looked at by those that wait: a lost worker can make the rest enough.
  while (held.version <= push.step) {
    if (!held.updating && enough(held)) {
      held.updating = true;
      const Doing updates(*this, Part::update);
      if (sum.weight > 0) co_await update(held, sum.values.data(), push, 1 / sum.weight);
      std::fill(sum.values.begin(), sum.values.end(), 0.0F);
      sum.arrived = 0;
      sum.weight = 0;
      held.updating = false;
      ++held.version;
      held.changed->notify_all();
      co_return;
    }
    const double before = world_.now();
    co_await held.changed->wait();
    pull.waited_s += world_.now() - before;
  }
}

/// Those without samples have arrived too, but a step needs one that has some, if it can come.
bool Server::enough(const Held& held) const {
  const Held::Sum& sum = held.sums[0];
  const int64_t can_come = active(held);
  const int64_t needed = std::min(team_.workers - options_.sync.left_out(), can_come);
  return sum.arrived >= needed && (sum.weight > 0 || sum.arrived >= can_come);
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
  if (push.ask == Ask::agreement) {
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
      if (lost_[other] || held.resting[other]) continue;
      slowest = std::min(slowest, held.clocks[other]);
    }
    if (held.clocks[static_cast<size_t>(worker)] - slowest <= options_.sync.slack()) co_return;
    co_await held.changed->wait();
  }
}

void Server::lose(Rank worker) {
  lost_[static_cast<size_t>(worker)] = true;
  for (Held& held : held_) held.changed->notify_all();
}

int64_t Server::active(const Held& held) const {
  int64_t count = 0;
  for (size_t worker = 0; worker < lost_.size(); ++worker) {
    if (!lost_[worker] && !held.resting[worker]) ++count;
  }
  return count;
}

}  // namespace syrtos::strategy

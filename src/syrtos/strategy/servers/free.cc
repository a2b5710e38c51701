#include "syrtos/strategy/servers/free.h"

#include <algorithm>
#include <cstring>

#include "syrtos/strategy/wire.h"

namespace syrtos::strategy {

using world::Source;

FreePolicy::FreePolicy(const ServerTools& tools)
    : ServerPolicy(tools),
      states_(tools.parameters.pieces().size()),
      lost_(static_cast<size_t>(tools.team.workers)) {
  for (State& state : states_) {
    state.resting.resize(lost_.size());
    state.changed = std::make_unique<world::Condition>(tools.world);
  }
}

Task<> FreePolicy::talk(Rank worker, ServedPiece& piece) {
  try {
    co_await talk_until_lost(worker, piece);
  } catch (const world::PeerLost& error) {
    // Rank 0 is missed where its commands are awaited.
    if (error.rank() != worker) throw;
  }
  lost_[static_cast<size_t>(worker)] = true;
  for (State& state : states_) state.changed->notify_all();
}

Task<> FreePolicy::talk_until_lost(Rank worker, ServedPiece& piece) {
  State& state = states_[piece.index];
  const size_t count = piece.piece.count;
  std::vector<float> mine(tools_.world.carries_data() ? count : 0);  // the gradient, then weights
  std::vector<uint16_t> packed;
  Pull pull;  // the version that the worker computes with
  bool begun = false;
  for (uint32_t round = 0;; ++round) {
    Push push;
    co_await tools_.transfers.receive_push(worker, piece, round, push);
    state.resting[static_cast<size_t>(worker)] = push.ask == Ask::rest;
    if (push.ask == Ask::rest) {
      state.changed->notify_all();
      continue;
    }
    if (push.ask == Ask::step) {
      if (!begun) {
        pull.version = first_version(push);
        piece.version = std::max(piece.version, pull.version);
        begun = true;
      }
      if (push.weight > 0) {
        co_await tools_.transfers.receive_gradient(worker, piece, round, push, mine.data(), false);
        const auto stale = static_cast<size_t>(piece.version - pull.version);
        ++tools_.report.staleness[std::min(stale, Report::kLargest)];
      }
      pull = {.version = pull.version};
      co_await take(worker, piece, push, mine, pull);
    }
    const bool exact = push.ask == Ask::agreement;
    if (exact) pull.waited_s = 0;
    pull.version = exact ? agree_on(state, piece, push.step) : piece.version;
    Source source{mine.data(), piece.bytes()};
    {
      const Observed copies(tools_.observer, Part::update);
      co_await tools_.world.compute(
          0, [&] { copy_weights(piece, push, mine); }, tools_.parameters.where());
      if (tools_.options.wire.halves() && !exact) {
        pack_bf16({mine.data(), count}, packed);
        source = {packed.data(), count * 2};
      }
    }
    co_await tools_.transfers.reply(worker, piece, round, pull, source);
  }
}

/// The first who asks decides for all.
int64_t FreePolicy::agree_on(State& state, const ServedPiece& piece, int64_t number) {
  if (number > state.agreement) {
    state.agreement = number;
    state.agreed_version = piece.version;
  }
  return state.agreed_version;
}

void FreePolicy::copy_weights(const ServedPiece& piece, const Push& push, std::vector<float>& to) {
  const float* weights = tools_.parameters.weights_of(piece);
  if (weights == nullptr) return;
  if (push.ask == Ask::agreement) {
    State& state = states_[piece.index];
    if (state.copied < push.step) {
      state.copied = push.step;
      state.agreed_weights.assign(weights, weights + piece.piece.count);
    }
    weights = state.agreed_weights.data();
  }
  std::memcpy(to.data(), weights, piece.bytes());
}

bool FreePolicy::is_active(Rank worker, const ServedPiece& piece) const {
  const auto number = static_cast<size_t>(worker);
  return !lost_[number] && !states_[piece.index].resting[number];
}

int64_t FreePolicy::active(const ServedPiece& piece) const {
  int64_t count = 0;
  for (Rank worker = 0; worker < tools_.team.workers; ++worker) {
    if (is_active(worker, piece)) ++count;
  }
  return count;
}

}  // namespace syrtos::strategy

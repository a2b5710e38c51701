#include "syrtos/strategy/servers/sums.h"

#include <algorithm>

#include "syrtos/strategy/wire.h"

namespace syrtos::strategy {

using world::Source;

SumOfAll::SumOfAll(const ServerTools& tools)
    : ServerPolicy(tools), sums_(tools.parameters.pieces().size()) {
  for (const ServedPiece& piece : tools.parameters.pieces()) {
    for (Sum& sum : sums_[piece.index]) {
      sum.done = std::make_shared<world::Event>(tools.world);
      if (tools.world.carries_data()) sum.values.resize(piece.piece.count);
    }
  }
}

Task<> SumOfAll::talk(Rank worker, ServedPiece& piece) {
  ServerTransfers& transfers = tools_.transfers;
  for (uint32_t round = 0;; ++round) {
    Push push;
    co_await transfers.receive_push(worker, piece, round, push);
    if (push.ask == Ask::agreement) {  // nobody pushes before all have what they asked for
      const Source exact{tools_.parameters.weights_of(piece), piece.bytes()};
      co_await transfers.reply(worker, piece, round, Pull{piece.version}, exact);
      continue;
    }
    Sum& sum = sums_[piece.index][round % 2];
    co_await transfers.receive_gradient(worker, piece, round, push, sum.values.data(), true);
    const double came = tools_.world.now();
    const std::shared_ptr<world::Event> done = sum.done;
    if (++sum.arrived == tools_.team.workers) {
      sum.complete_at = came;
      co_await finish(piece, sum, push);
      done->set();
    } else {
      co_await done->wait();
    }
    const Pull pull{push.step + 1, 0, sum.complete_at - came};
    co_await transfers.reply(worker, piece, round, pull, reply_of(piece, sum));
    if (++sum.replied == tools_.team.workers) {
      sum.replied = 0;
      if (!tools_.options.updates_at_servers()) {
        std::fill(sum.values.begin(), sum.values.end(), 0.0F);
      }
    }
  }
}

/// What the sum is for; the next round but one begins with zeros.
Task<> SumOfAll::finish(ServedPiece& piece, Sum& sum, const Push& push) {
  const Observed updates(tools_.observer, Part::update);
  const double mean = 1.0 / tools_.team.workers;
  const bool updates_here = tools_.options.updates_at_servers();
  float* values = sum.values.data();
  if (updates_here) {
    co_await tools_.parameters.update(piece, values, mean, push, push.updates);
    std::fill(sum.values.begin(), sum.values.end(), 0.0F);
    values = tools_.parameters.weights_of(piece);
  }
  const bool halves = tools_.options.wire.halves();
  if (!updates_here || halves) {
    // Not on the thread that moves the bytes of the other pieces.
    co_await tools_.world.compute(0, [&] {
      if (!updates_here) scale({sum.values.empty() ? nullptr : values, piece.piece.count}, mean);
      if (halves) pack_bf16({values, piece.piece.count}, sum.packed);
    });
  }
  ++piece.version;
  sum.arrived = 0;
  sum.done = std::make_shared<world::Event>(tools_.world);
}

Source SumOfAll::reply_of(const ServedPiece& piece, const Sum& sum) const {
  if (tools_.options.wire.halves()) return {sum.packed.data(), piece.piece.count * 2};
  const bool updates = tools_.options.updates_at_servers();
  return {updates ? tools_.parameters.weights_of(piece) : sum.values.data(), piece.bytes()};
}

}  // namespace syrtos::strategy

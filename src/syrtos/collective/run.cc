#include "syrtos/collective/run.h"

#include <algorithm>

#include "syrtos/collective/flight.h"

namespace syrtos::collective {

namespace {

/// Elements that a round sends, and the most transfers that one has.
struct Needs {
  size_t transfers = 0;
  size_t sent = 0;
};

Needs needs_of(const Plan& plan) {
  Needs most;
  for (const Round& round : plan.rounds) {
    size_t sent = 0;
    for (const Transfer& transfer : round.transfers) {
      if (transfer.kind == Transfer::Kind::send) sent += transfer.count;
    }
    most.transfers = std::max(most.transfers, round.transfers.size());
    most.sent = std::max(most.sent, sent);
  }
  return most;
}

world::Landing landing_of(const Cargo& cargo, Transfer::Kind kind) {
  const bool adds = kind == Transfer::Kind::reduce;
  if (cargo.wire == Wire::bf16) return adds ? world::Landing::widen_add : world::Landing::widen;
  return adds ? world::Landing::add : world::Landing::store;
}

/// Makes the round's messages, those that arrive first: their senders may be waiting.
void prepare(Flight& flight, const Group& group, const Round& round, const Cargo& cargo,
             uint16_t* scratch) {
  const size_t on_wire = cargo.wire == Wire::bf16 ? bytes_of(cargo.wire) : cargo.element_bytes;
  auto* const data = static_cast<std::byte*>(cargo.data);
  for (const Transfer& transfer : round.transfers) {
    if (transfer.kind == Transfer::Kind::send) continue;
    world::Target target{nullptr, transfer.count * on_wire, landing_of(cargo, transfer.kind)};
    if (data != nullptr) target.data = data + transfer.first * cargo.element_bytes;
    flight.recv(group.rank_of(transfer.peer), cargo.tag, target);
  }
  for (const Transfer& transfer : round.transfers) {
    if (transfer.kind != Transfer::Kind::send) continue;
    world::Source source{nullptr, transfer.count * on_wire};
    if (data != nullptr && cargo.wire == Wire::bf16) {
      const auto* values = static_cast<const float*>(cargo.data) + transfer.first;
      round_to_bf16(values, scratch, transfer.count);
      source.data = scratch;
      scratch += transfer.count;
    } else if (data != nullptr) {
      source.data = data + transfer.first * cargo.element_bytes;
    }
    flight.send(group.rank_of(transfer.peer), cargo.tag, source, cargo.priority);
  }
}

}  // namespace

world::Task<> run_plan(world::World& world, const Group& group, Plan plan, Cargo cargo) {
  const Needs needs = needs_of(plan);
  const bool rounds_values = cargo.wire == Wire::bf16 && cargo.data != nullptr;
  Scratch::Lease scratch = Scratch::borrow(cargo.scratch, rounds_values ? needs.sent : 0);
  Flight flight(world, needs.transfers);
  for (const Round& round : plan.rounds) {
    prepare(flight, group, round, cargo, scratch.data());
    while (!flight.landed()) co_await flight;
    flight.clear();
    if (rounds_values && round.settled.count > 0) {
      round_as_bf16(static_cast<float*>(cargo.data) + round.settled.first, round.settled.count);
    }
  }
}

}  // namespace syrtos::collective

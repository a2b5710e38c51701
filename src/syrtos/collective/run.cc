#include "syrtos/collective/run.h"

#include <algorithm>
#include <cstring>

#include "syrtos/collective/flight.h"

namespace syrtos::collective {

namespace {

/// What is sent is not what lies in memory: it is rounded, or as it was before somebody adds to it.
bool sends_copy(const Transfer& transfer, const Cargo& cargo) {
  return cargo.data != nullptr && transfer.sends() &&
         (cargo.wire == Wire::bf16 || transfer.kind == Transfer::Kind::swap);
}

size_t bytes_on_wire(const Cargo& cargo) {
  return cargo.wire == Wire::bf16 ? bytes_of(cargo.wire) : cargo.element_bytes;
}

/// The most messages that a round has, and the most bytes that it copies.
struct Needs {
  size_t messages = 0;
  size_t copied = 0;
};

Needs needs_of(const Plan& plan, const Cargo& cargo) {
  Needs most;
  for (const Round& round : plan.rounds) {
    size_t copied = 0;
    size_t messages = 0;
    for (const Transfer& transfer : round.transfers) {
      messages += transfer.kind == Transfer::Kind::swap ? 2 : 1;
      if (sends_copy(transfer, cargo)) copied += transfer.count * bytes_on_wire(cargo);
    }
    most.messages = std::max(most.messages, messages);
    most.copied = std::max(most.copied, copied);
  }
  return most;
}

world::Landing landing_of(const Cargo& cargo, Transfer::Kind kind) {
  const bool adds = kind != Transfer::Kind::receive;
  if (cargo.wire == Wire::bf16) return adds ? world::Landing::widen_add : world::Landing::widen;
  return adds ? world::Landing::add : world::Landing::store;
}

void copy(const Transfer& transfer, const Cargo& cargo, std::byte* to) {
  std::byte* const from =
      static_cast<std::byte*>(cargo.data) + transfer.first * cargo.element_bytes;
  if (cargo.wire == Wire::f32) {
    std::memcpy(to, from, transfer.count * cargo.element_bytes);
    return;
  }
  auto* const values = reinterpret_cast<float*>(from);
  round_to_bf16(values, reinterpret_cast<uint16_t*>(to), transfer.count);
  // Both add the same two numbers, and so end with the same bits.
  if (transfer.kind == Transfer::Kind::swap) round_as_bf16(values, transfer.count);
}

/// Makes the round's messages, those that arrive first: their senders may be waiting.
void prepare(Flight& flight, const Group& group, const Round& round, const Cargo& cargo,
             std::byte* scratch) {
  const size_t on_wire = bytes_on_wire(cargo);
  auto* const data = static_cast<std::byte*>(cargo.data);
  for (const Transfer& transfer : round.transfers) {
    if (!transfer.receives()) continue;
    world::Target target{nullptr, transfer.count * on_wire, landing_of(cargo, transfer.kind)};
    if (data != nullptr) target.data = data + transfer.first * cargo.element_bytes;
    flight.recv(group.rank_of(transfer.peer), cargo.tag, target);
  }
  for (const Transfer& transfer : round.transfers) {
    if (!transfer.sends()) continue;
    world::Source source{nullptr, transfer.count * on_wire};
    if (sends_copy(transfer, cargo)) {
      copy(transfer, cargo, scratch);
      source.data = scratch;
      scratch += source.bytes;
    } else if (data != nullptr) {
      source.data = data + transfer.first * cargo.element_bytes;
    }
    flight.send(group.rank_of(transfer.peer), cargo.tag, source, cargo.priority);
  }
}

}  // namespace

world::Task<> run_plan(world::World& world, const Group& group, Plan plan, Cargo cargo) {
  const Needs needs = needs_of(plan, cargo);
  const bool rounds_values = cargo.wire == Wire::bf16 && cargo.data != nullptr;
  Scratch::Lease scratch = Scratch::borrow(cargo.scratch, needs.copied);
  Flight flight(world, needs.messages);
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

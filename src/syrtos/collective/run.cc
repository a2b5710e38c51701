#include "syrtos/collective/run.h"

#include <algorithm>
#include <coroutine>
#include <cstring>
#include <exception>
#include <memory>

#include "syrtos/base/error.h"
#include "syrtos/collective/bf16.h"
#include "syrtos/collective/flight.h"

namespace syrtos::collective {

namespace {

/// What is sent is not what lies in memory: it is rounded, or as it was before somebody adds to it.
bool sends_copy(const Transfer& transfer, const Cargo& cargo) {
  return cargo.data != nullptr && transfer.sends() &&
         (cargo.as_bf16 || transfer.kind == Transfer::Kind::swap);
}

/// The most messages that a round has.
size_t messages_of(const Rounds& rounds) {
  size_t most = 0;
  for (const Round& round : rounds) {
    size_t messages = 0;
    for (const Transfer& transfer : round.transfers) {
      messages += transfer.kind == Transfer::Kind::swap ? 2 : 1;
    }
    most = std::max(most, messages);
  }
  return most;
}

/// The most bytes that a round copies.
size_t copied_by(const Rounds& rounds, const Cargo& cargo) {
  size_t most = 0;
  for (const Round& round : rounds) {
    size_t copied = 0;
    for (const Transfer& transfer : round.transfers) {
      if (sends_copy(transfer, cargo)) copied += transfer.count * cargo.bytes_on_wire();
    }
    most = std::max(most, copied);
  }
  return most;
}

world::Landing landing_of(const Cargo& cargo, Transfer::Kind kind) {
  if (kind == Transfer::Kind::receive) {
    return cargo.as_bf16 ? world::Landing::kWiden : world::Landing::kStore;
  }
  world::Landing landing = cargo.reduce;
  if (cargo.as_bf16) landing.arrives = world::Element::bf16;
  return landing;
}

void copy(const Transfer& transfer, const Cargo& cargo, std::byte* to) {
  std::byte* const from =
      static_cast<std::byte*>(cargo.data) + transfer.first * cargo.element_bytes;
  if (!cargo.as_bf16) {
    std::memcpy(to, from, transfer.count * cargo.element_bytes);
    return;
  }
  auto* const values = reinterpret_cast<float*>(from);
  round_to_bf16(values, reinterpret_cast<uint16_t*>(to), transfer.count);
  // Both add the same two numbers, and so end with the same bits.
  if (transfer.kind == Transfer::Kind::swap) round_as_bf16(values, transfer.count);
}

}  // namespace

/// One list of rounds and its place in it.
class Runner::Slice {
 public:
  Slice(world::World& world, const Group& group, Rounds rounds, const Cargo& cargo);

  void begin(uint32_t round);
  /// Goes on as far as possible; whatever ends later resumes the coroutine. True: to the end.
  /// Throws what a message threw.
  bool advance(std::coroutine_handle<> handle);
  void abandon() { flight_.clear(); }

 private:
  void make_messages(const Round& round);
  void settle(const Round& round) const;

  const Group& group_;
  const Rounds rounds_;
  Cargo cargo_;
  std::unique_ptr<std::byte[]> scratch_;
  Flight flight_;
  size_t at_ = 0;          // round
  bool crossing_ = false;  // its messages are on their way
};

Runner::Slice::Slice(world::World& world, const Group& group, Rounds rounds, const Cargo& cargo)
    : group_(group),
      rounds_(std::move(rounds)),
      cargo_(cargo),
      scratch_(std::make_unique_for_overwrite<std::byte[]>(copied_by(rounds_, cargo))),
      flight_(world, messages_of(rounds_)) {}

void Runner::Slice::begin(uint32_t round) {
  cargo_.tag.round = round;
  at_ = 0;
  crossing_ = false;
}

bool Runner::Slice::advance(std::coroutine_handle<> handle) {
  for (; at_ < rounds_.size(); ++at_) {
    if (!crossing_) {
      make_messages(rounds_[at_]);
      flight_.start(handle);
      crossing_ = true;
    }
    if (!flight_.landed()) return false;
    flight_.clear();
    crossing_ = false;
    settle(rounds_[at_]);
  }
  return true;
}

/// Those that arrive come first: their senders may be waiting.
void Runner::Slice::make_messages(const Round& round) {
  const size_t on_wire = cargo_.bytes_on_wire();
  auto* const data = static_cast<std::byte*>(cargo_.data);
  for (const Transfer& transfer : round.transfers) {
    if (!transfer.receives()) continue;
    world::Target target{nullptr, transfer.count * on_wire, landing_of(cargo_, transfer.kind)};
    if (data != nullptr) target.data = data + transfer.first * cargo_.element_bytes;
    flight_.recv(group_.rank_of(transfer.peer), cargo_.tag, target);
  }
  std::byte* scratch = scratch_.get();
  for (const Transfer& transfer : round.transfers) {
    if (!transfer.sends()) continue;
    world::Source source{nullptr, transfer.count * on_wire};
    if (sends_copy(transfer, cargo_)) {
      copy(transfer, cargo_, scratch);
      source.data = scratch;
      scratch += source.bytes;
    } else if (data != nullptr) {
      source.data = data + transfer.first * cargo_.element_bytes;
    }
    flight_.send(group_.rank_of(transfer.peer), cargo_.tag, source, cargo_.priority);
  }
}

void Runner::Slice::settle(const Round& round) const {
  if (!cargo_.as_bf16 || cargo_.data == nullptr || round.settled.count == 0) return;
  round_as_bf16(static_cast<float*>(cargo_.data) + round.settled.first, round.settled.count);
}

/// `while (!co_await run) continue;` drives all slices in one coroutine. Leaving it before the end
/// abandons what is on its way.
class Runner::Run {
 public:
  Run(Runner& runner, uint32_t round) : runner_(runner) {
    SYRTOS_CHECK(!runner.running_, "a collective is still running");
    runner.running_ = true;
    for (Slice& slice : runner.slices_) slice.begin(round);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() {
    runner_.running_ = false;
    for (Slice& slice : runner_.slices_) slice.abandon();
  }

  bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<> handle) {
    try {
      done_ = true;
      for (Slice& slice : runner_.slices_) done_ = slice.advance(handle) && done_;
    } catch (...) {
      error_ = std::current_exception();
    }
    return !done_ && !error_;
  }
  bool await_resume() const {
    if (error_) std::rethrow_exception(error_);
    return done_;
  }

 private:
  Runner& runner_;
  bool done_ = false;
  std::exception_ptr error_;
};

Runner::Runner(world::World& world, const Group& group) : world_(world), group_(group) {}
Runner::~Runner() = default;

void Runner::add(Rounds rounds, const Cargo& cargo) {
  slices_.emplace_back(world_, group_, std::move(rounds), cargo);
}

world::Task<> Runner::run(uint32_t round) {
  Run run(*this, round);
  while (!co_await run) continue;
}

world::Task<> run_rounds(world::World& world, const Group& group, Rounds rounds, Cargo cargo) {
  Runner runner(world, group);
  runner.add(std::move(rounds), cargo);
  co_await runner.run(cargo.tag.round);
}

}  // namespace syrtos::collective

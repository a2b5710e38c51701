#include "syrtos/strategy/servers/transfers.h"

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/strategy/text.h"
#include "syrtos/strategy/wire.h"

namespace syrtos::strategy {

using world::Landing;
using world::Source;
using world::Target;

namespace {

/// A permit that goes back whatever happens.
struct Permit {
  world::Semaphore* semaphore = nullptr;
  ~Permit() {
    if (semaphore != nullptr) semaphore->release();
  }
};

}  // namespace

ServerTransfers::ServerTransfers(World& world, const Options& options, ServerObserver* observer)
    : world_(world), wire_(options.wire), observer_(observer) {
  if (options.permits == 0) return;
  in_ = std::make_unique<world::Semaphore>(world, options.permits);
  out_ = std::make_unique<world::Semaphore>(world, options.permits);
}

Task<> ServerTransfers::receive_push(Rank worker, const ServedPiece& piece, uint32_t round,
                                     Push& push) {
  co_await receive_patiently(world_, worker, header_tag(piece.id, round),
                             Target{&push, sizeof(push)});
  if (push.ask != Ask::step || push.step < step_) co_return;
  step_ = push.step + 1;
  if (observer_ != nullptr) observer_->step(step_);
}

Task<> ServerTransfers::receive_gradient(Rank worker, const ServedPiece& piece, uint32_t round,
                                         const Push& push, float* to, bool add) {
  Permit permit;
  if (in_) {
    co_await in_->acquire();
    permit.semaphore = in_.get();
    const std::byte go{1};
    co_await world_.send(worker, permit_tag(piece.id, round), Source{&go, 1});
  }
  const Observed receives(observer_, Part::network);
  const Tag tag = push_tag(piece.id, round);
  const size_t count = piece.piece.count;
  if (wire_.sparse()) {
    if (push.words > count) {
      fail_run("{} sends {} sparse elements of {}", world_.name(worker), push.words, count);
    }
    std::vector<uint32_t> words(push.words);
    co_await world_.recv(worker, tag, Target{words.data(), words.size() * sizeof(uint32_t)});
    if (!add && to != nullptr) std::fill_n(to, count, 0.0F);
    add_sparse(words, wire_.threshold, {to, count});
  } else if (wire_.halves()) {
    co_await world_.recv(worker, tag,
                         Target{to, count * 2, add ? Landing::kWidenAdd : Landing::kWiden});
  } else {
    co_await world_.recv(worker, tag,
                         Target{to, piece.bytes(), add ? Landing::kAdd : Landing::kStore});
  }
}

Task<> ServerTransfers::reply(Rank worker, const ServedPiece& piece, uint32_t round, Pull pull,
                              Source values) {
  Permit permit;
  if (out_) {
    // A permit in the hands of one that still computes would keep the others waiting.
    std::byte ready{};
    co_await receive_patiently(world_, worker, ready_tag(piece.id, round), Target{&ready, 1});
    co_await out_->acquire();
    permit.semaphore = out_.get();
  }
  const Observed sends(observer_, Part::network);
  if (!world_.carries_data()) values.data = nullptr;
  // The first layers' weights, which lie last, are needed first.
  const int priority = piece.piece.bucket;
  co_await world_.send(worker, answer_tag(piece.id, round), Source{&pull, sizeof(pull)}, priority);
  co_await world_.send(worker, pull_tag(piece.id, round), values, priority);
}

}  // namespace syrtos::strategy

#include "syrtos/strategy/servers/client.h"

#include "syrtos/base/error.h"

namespace syrtos::strategy {

using world::Landing;
using world::Source;
using world::Target;

ServerClient::ServerClient(World& world, const Team& team, const Options& options, Replica& replica,
                           Meter& meter)
    : world_(world), team_(team), options_(options), replica_(replica), meter_(meter) {
  for (const Piece& piece : place_on_servers(replica.layout(), team.serving())) {
    Talk& talk = talks_.emplace_back();
    talk.piece = piece;
    if (options.wire.sparse()) talk.residue.emplace(options.wire.threshold);
  }
  SYRTOS_CHECK(talks_.size() <= 65536, "{} pieces", talks_.size());
}

Task<> ServerClient::push(int id, uint32_t round, const StepInfo& info) {
  Talk& talk = at(id);
  const Rank server = server_of(talk);
  const int priority = talk.piece.bucket;
  const Floats gradient = part(replica_.gradients(), talk.piece.first, talk.piece.count);
  const bool nothing = info.weight == 0 && !options_.sync.in_step();
  SparseGradient sparse;
  if (info.weight != 1 || !options_.wire.exact()) {
    // Not on the thread that moves the bytes of the others.
    co_await world_.compute(0, [&] {
      scale(gradient, info.weight);
      if (nothing) return;
      if (talk.residue) sparse = talk.residue->encode(gradient);
      if (options_.wire.halves()) pack_bf16(gradient, talk.packed);
    });
  }
  Push header;
  header.learning_rate = info.hyper.learning_rate;
  header.weight_decay = info.hyper.weight_decay;
  header.weight = info.weight;
  header.step = info.step;
  header.updates = info.hyper.step;
  header.words = static_cast<uint32_t>(sparse.words.size());
  co_await world_.send(server, header_tag(id, round), Source{&header, sizeof(header)}, priority);
  if (nothing) co_return;
  if (options_.permits > 0) {
    std::byte go{};
    co_await world_.recv(server, permit_tag(id, round), Target{&go, 1});
  }
  co_await world_.send(server, push_tag(id, round), encoded(talk, gradient, sparse), priority);
}

Source ServerClient::encoded(const Talk& talk, const Floats& gradient,
                             const SparseGradient& sparse) const {
  if (talk.residue) return {sparse.words.data(), sparse.words.size() * sizeof(uint32_t)};
  if (!options_.wire.halves()) return {gradient.data, gradient.count * sizeof(float)};
  return {talk.packed.data(), gradient.count * 2};
}

Task<> ServerClient::receive_answer(int id, uint32_t round) {
  Talk& talk = at(id);
  const Rank server = server_of(talk);
  if (options_.permits > 0) {
    const std::byte ready{1};
    co_await world_.send(server, ready_tag(id, round), Source{&ready, 1}, talk.piece.bucket);
  }
  Pull header;
  co_await world_.recv(server, answer_tag(id, round), Target{&header, sizeof(header)});
  talk.version = header.version;
  talk.late = header.late != 0;
  // It waited at the end of the way, but only how long counts.
  meter_.waited_for_others({world_.now() - header.waited_s, world_.now()});
}

Task<> ServerClient::pull(int id, uint32_t round, bool exact) {
  const Talk& talk = at(id);
  const Floats arena = options_.updates_at_servers() ? replica_.weights() : replica_.gradients();
  const Floats to = part(arena, talk.piece.first, talk.piece.count);
  const bool packed = options_.wire.halves() && !exact;
  const Target target{to.data, to.count * (packed ? 2 : sizeof(float)),
                      packed ? Landing::kWiden : Landing::kStore};
  co_await world_.recv(server_of(talk), pull_tag(id, round), target);
}

Task<> ServerClient::pull_agreed(int id, int64_t agreement) {
  const uint32_t round = begin_round(id);
  Push header;
  header.ask = Ask::agreement;
  header.step = agreement;
  co_await world_.send(server_of(at(id)), header_tag(id, round), Source{&header, sizeof(header)});
  co_await receive_answer(id, round);
  co_await pull(id, round, true);
}

Task<> ServerClient::rest() {
  Push header;
  header.ask = Ask::rest;
  for (int id = 0; id < pieces(); ++id) {
    co_await world_.send(server_of(at(id)), header_tag(id, begin_round(id)),
                         Source{&header, sizeof(header)});
  }
}

}  // namespace syrtos::strategy

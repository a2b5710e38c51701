#include "syrtos/strategy/servers/parameters.h"

namespace syrtos::strategy {

using world::Source;
using world::Target;

namespace {

std::vector<ServedPiece> pieces_of(const Layout& layout, int servers, int server) {
  std::vector<ServedPiece> served;
  const std::vector<Piece> all = place_on_servers(layout, servers);
  size_t offset = 0;
  for (size_t id = 0; id < all.size(); ++id) {
    if (all[id].server != server) continue;
    ServedPiece piece{.index = served.size(),
                      .id = static_cast<int>(id),
                      .piece = all[id],
                      .offset = offset,
                      .segments = {}};
    segments_in(layout, all[id].first, all[id].count, piece.segments);
    for (optim::Segment& segment : piece.segments) {
      segment.offset = segment.offset - piece.piece.first + offset;
    }
    offset += piece.piece.count;
    served.push_back(std::move(piece));
  }
  return served;
}

size_t elements_of(const std::vector<ServedPiece>& pieces) {
  return pieces.empty() ? 0 : pieces.back().offset + pieces.back().piece.count;
}

}  // namespace

ServedParameters::ServedParameters(World& world, const Team& team, const Options& options,
                                   const optim::OptimizerOptions& optimizer, const Layout& layout)
    : world_(world),
      updates_(options.updates_at_servers()),
      update_s_per_element_(options.update_s_per_element),
      where_(options.exchange.workers_serve() ? world::Where::here : world::Where::pool),
      pieces_(pieces_of(layout, team.serving(), team.server_index(world.rank()))),
      weights_(world.carries_data() ? elements_of(pieces_) : 0),
      optimizer_(optimizer, weights_.size()) {}

float* ServedParameters::weights_of(const ServedPiece& piece) {
  return weights_.empty() ? nullptr : weights_.data() + piece.offset;
}

Floats ServedParameters::kept_of(const ServedPiece& piece, size_t arena) const {
  const std::span<float> all = optimizer_.slots()[arena].span();
  return {all.empty() ? nullptr : all.data() + piece.offset, piece.piece.count};
}

Task<> ServedParameters::receive_all() {
  for (const ServedPiece& piece : pieces_) {
    co_await world_.recv(0, arena_tag(piece.id, 0), Target{weights_of(piece), piece.bytes()});
    if (!updates_) continue;
    for (size_t arena = 0; arena < optimizer_.slots().size(); ++arena) {
      co_await world_.recv(0, arena_tag(piece.id, static_cast<uint32_t>(arena) + 1),
                           Target{kept_of(piece, arena).data, piece.bytes()});
    }
  }
}

Task<> ServedParameters::send_kept() {
  for (const ServedPiece& piece : pieces_) {
    for (size_t arena = 0; arena < optimizer_.slots().size(); ++arena) {
      co_await world_.send(0, arena_tag(piece.id, static_cast<uint32_t>(arena) + 1),
                           Source{kept_of(piece, arena).data, piece.bytes()});
    }
  }
}

Task<> ServedParameters::update(const ServedPiece& piece, const float* gradient, double scale,
                                const Push& push, int64_t step) {
  co_await world_.compute(
      update_s_per_element_ * static_cast<double>(piece.piece.count),
      [&] {
        const optim::Hyper hyper{.learning_rate = push.learning_rate,
                                 .weight_decay = push.weight_decay,
                                 .gradient_scale = scale,
                                 .step = step};
        optimizer_.update_part(weights_, {gradient, piece.piece.count}, piece.offset,
                               piece.segments, hyper);
      },
      where_);
}

}  // namespace syrtos::strategy

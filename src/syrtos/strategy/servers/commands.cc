#include "syrtos/strategy/servers/commands.h"

#include "syrtos/base/error.h"

namespace syrtos::strategy {

using world::Source;
using world::Target;

namespace {

Task<> send_layout(World& world, Rank server, const Layout& layout) {
  const std::array<uint64_t, 2> sizes{layout.tensors.size(), layout.buckets.size()};
  co_await world.send(server, layout_tag(0), Source{sizes.data(), sizeof(sizes)});
  co_await world.send(server, layout_tag(1),
                      Source{layout.tensors.data(), sizes[0] * sizeof(optim::Segment)});
  co_await world.send(server, layout_tag(2),
                      Source{layout.buckets.data(), sizes[1] * sizeof(Bucket)});
}

}  // namespace

Task<Layout> receive_layout(World& world) {
  std::array<uint64_t, 2> sizes{};
  co_await world.recv(0, layout_tag(0), Target{sizes.data(), sizeof(sizes)});
  constexpr uint64_t kMost = 1U << 20;
  if (sizes[0] > kMost || sizes[1] > kMost) {
    fail_run("expected a layout of at most {} tensors and buckets from {}, found {} and {}", kMost,
             world.name(0), sizes[0], sizes[1]);
  }
  Layout layout;
  layout.tensors.resize(sizes[0]);
  layout.buckets.resize(sizes[1]);
  co_await world.recv(0, layout_tag(1),
                      Target{layout.tensors.data(), sizes[0] * sizeof(optim::Segment)});
  co_await world.recv(0, layout_tag(2), Target{layout.buckets.data(), sizes[1] * sizeof(Bucket)});
  check_layout(layout);
  co_return layout;
}

ServerCommands::ServerCommands(World& world, const Team& team, const Options& options,
                               Replica& replica)
    : world_(world),
      team_(team),
      servers_update_(options.updates_at_servers()),
      replica_(replica),
      pieces_(place_on_servers(replica.layout(), team.serving())) {}

Task<> ServerCommands::begin() {
  for (int k = 0; k < team_.servers; ++k) {
    co_await send_layout(world_, team_.server_rank(k), replica_.layout());
  }
  std::vector<Floats> arenas = {};
  arenas.push_back(replica_.weights());
  if (servers_update_) {
    for (const Floats& kept : replica_.kept()) arenas.push_back(kept);
  }
  for (size_t id = 0; id < pieces_.size(); ++id) {
    const Piece& piece = pieces_[id];
    for (size_t arena = 0; arena < arenas.size(); ++arena) {
      const Floats values = part(arenas[arena], piece.first, piece.count);
      co_await world_.send(server_of(piece),
                           arena_tag(static_cast<int>(id), static_cast<uint32_t>(arena)),
                           Source{values.data, values.count * sizeof(float)});
    }
  }
}

Task<> ServerCommands::send(Command what, int servers) {
  const uint32_t number = commands_++;
  for (int k = 0; k < servers; ++k) {
    co_await world_.send(team_.server_rank(k), command_tag(number), Source{&what, sizeof(what)});
  }
}

Task<> ServerCommands::collect() {
  if (!servers_update_) co_return;
  co_await send(Command::collect, team_.serving());
  const std::vector<Floats> kept = replica_.kept();
  for (size_t id = 0; id < pieces_.size(); ++id) {
    const Piece& piece = pieces_[id];
    for (size_t arena = 0; arena < kept.size(); ++arena) {
      const Floats to = part(kept[arena], piece.first, piece.count);
      co_await world_.recv(server_of(piece),
                           arena_tag(static_cast<int>(id), static_cast<uint32_t>(arena) + 1),
                           Target{to.data, to.count * sizeof(float)});
    }
  }
}

Task<> ServerCommands::ask(Command what) { return send(what, team_.servers); }

Task<Report> ServerCommands::stop() {
  Report all;
  const uint32_t number = commands_++;
  const auto command = Command::stop;
  for (int k = 0; k < team_.serving(); ++k) {
    const Rank server = team_.server_rank(k);
    co_await world_.send(server, command_tag(number), Source{&command, sizeof(command)});
    Report report;
    co_await world_.recv(server, report_tag(), Target{&report, sizeof(report)});
    for (size_t i = 0; i < report.staleness.size(); ++i) all.staleness[i] += report.staleness[i];
    all.dropped += report.dropped;
  }
  co_return all;
}

}  // namespace syrtos::strategy

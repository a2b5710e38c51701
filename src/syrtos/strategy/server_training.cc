#include "syrtos/strategy/server_training.h"

#include <algorithm>
#include <limits>

#include "syrtos/optim/clip.h"
#include "syrtos/strategy/all_reduce.h"
#include "syrtos/strategy/pass.h"

namespace syrtos::strategy {

using world::Event;
using world::Landing;
using world::Source;
using world::Started;
using world::Target;

namespace {

/// Pieces of one worker and one server. Links do not serve all workers alike: one that is far ahead
/// fills the server's link with what must wait for the others, and the answers begin late.
constexpr size_t kMostUnderway = 4;

}  // namespace

ServerTraining::ServerTraining(World& world, const Team& team, const Options& options,
                               const optim::OptimizerOptions& optimizer, Replica& replica)
    : Strategy(world),
      world_(world),
      team_(team),
      options_(options),
      replica_(replica),
      workers_(collective::Group::of(world, team.worker_ranks())),
      servers_(team.serving()),
      lanes_of_bucket_(replica.layout().buckets.size()),
      arrivals_(world, meter_, replica.layout().buckets.size()) {
  for (const Piece& piece : place_on_servers(replica.layout(), servers_)) {
    Lane& lane = lanes_.emplace_back();
    lane.piece = piece;
    if (options.wire.sparse()) {
      lane.residue.emplace(options.wire.threshold);
    }
    lanes_of_bucket_[static_cast<size_t>(piece.bucket)].push_back(static_cast<int>(lanes_.size()) -
                                                                  1);
  }
  SYRTOS_CHECK(lanes_.size() <= 65536, "{} pieces", lanes_.size());
  if (options.sync.in_step() && options.permits == 0) follow_each_other();
  if (options.exchange.workers_serve()) {
    own_.emplace(world, team, options, optimizer, replica.layout(), servers_, world.rank());
  }
}

/// In the order of their numbers, whichever order their gradients come in: then no two workers can
/// wait for each other.
void ServerTraining::follow_each_other() {
  std::vector<std::vector<int>> of_server(static_cast<size_t>(servers_));
  for (size_t id = 0; id < lanes_.size(); ++id) {
    std::vector<int>& before = of_server[static_cast<size_t>(lanes_[id].piece.server)];
    if (before.size() >= kMostUnderway) lanes_[id].after = before[before.size() - kMostUnderway];
    before.push_back(static_cast<int>(id));
  }
}

Task<> ServerTraining::run(Race& race, Task<> task) {
  try {
    co_await task;
  } catch (...) {
    race.error = std::current_exception();
  }
  race.over.set();
}

Task<> ServerTraining::watch(Race& race, Started& server) {
  try {
    co_await server.join();
  } catch (...) {
    race.error = std::current_exception();
    race.over.set();
  }
}

/// Without its server a worker that serves would wait for its own answers in vain.
Task<> ServerTraining::beside_server(Task<> task) {
  if (!own_) {
    co_await task;
    co_return;
  }
  Race race{Event(world_), {}};
  const Started server(world_, watch(race, serving_));
  const Started working(world_, run(race, std::move(task)));
  co_await race.over.wait();
  if (race.error) std::rethrow_exception(race.error);
}

Task<> ServerTraining::begin() {
  if (own_) serving_ = Started(world_, own_->serve());
  co_await beside_server(start());
}

Task<> ServerTraining::start() {
  if (world_.rank() == 0) {
    co_await send_layout(world_, team_, replica_.layout());
    co_await send_arenas();
  }
  co_await broadcast_replica(world_, workers_, replica_);
}

Task<> ServerTraining::send_arenas() {
  std::vector<Floats> arenas = {};
  arenas.push_back(replica_.weights());
  if (options_.updates_at_servers()) {
    for (const Floats& kept : replica_.kept()) arenas.push_back(kept);
  }
  for (size_t id = 0; id < lanes_.size(); ++id) {
    const Piece& piece = lanes_[id].piece;
    for (size_t arena = 0; arena < arenas.size(); ++arena) {
      const Floats values = part(arenas[arena], piece.first, piece.count);
      co_await world_.send(server_of(piece),
                           arena_tag(static_cast<int>(id), static_cast<uint32_t>(arena)),
                           Source{values.data, values.count * sizeof(float)});
    }
  }
}

Task<int64_t> ServerTraining::step(const StepInfo& info) {
  int64_t taken = 1;
  co_await beside_server(pass(info, taken));
  co_return taken;
}

Task<> ServerTraining::pass(const StepInfo& info, int64_t& taken) {
  const Over over = std::make_shared<Event>(world_);
  for (Lane& lane : lanes_) lane.heard = std::make_shared<Event>(world_);
  co_await run_pass(world_, workers_, replica_, arrivals_, meter_, info.step,
                    [&](int bucket) { arrivals_.start(bucket, bring(bucket, info, over)); });
  over->set();
  if (info.clip > 0) co_await update_clipped(info);
  if (options_.sync.left_out() == 0) co_return;
  // Whoever was too late has to catch up: its next step is the servers' next step.
  co_await arrivals_.all();
  int64_t next = std::numeric_limits<int64_t>::max();
  size_t late = 0;
  size_t all = 0;
  for (const Lane& lane : lanes_) {
    next = std::min(next, lane.version);
    if (lane.late) late += lane.piece.count;
    all += lane.piece.count;
  }
  counted_ = 1 - static_cast<double>(late) / static_cast<double>(all);
  taken = std::max<int64_t>(1, next - info.step);
}

Task<> ServerTraining::bring(int bucket, StepInfo info, Over over) {
  std::vector<Started> exchanges;
  for (const int id : lanes_of_bucket_[static_cast<size_t>(bucket)]) {
    exchanges.emplace_back(world_, exchange(id, info, over));
  }
  co_await world::join_all(world_, exchanges);
}

Task<> ServerTraining::exchange(int id, StepInfo info, Over over) {
  Lane& lane = lanes_[static_cast<size_t>(id)];
  const uint32_t round = lane.round++;
  const Piece& piece = lane.piece;
  const std::shared_ptr<Event> heard = lane.heard;
  if (lane.after >= 0) {
    const std::shared_ptr<Event> before = lanes_[static_cast<size_t>(lane.after)].heard;
    co_await before->wait();
  }
  {
    const Meter::Crossing crossing(meter_, piece.bucket);
    co_await push(id, info, round);
    // With permits nothing is said before this worker can receive.
    if (options_.permits == 0) co_await hear(id, round);
  }
  heard->set();
  co_await over->wait();
  {
    const Meter::Crossing crossing(meter_, piece.bucket);
    if (options_.permits > 0) co_await hear(id, round);
    co_await pull(id, round, false);
  }
  if (!options_.updates_at_servers() && info.clip > 0) co_return;
  const Meter::Doing updates(meter_, Part::update);
  if (options_.updates_at_servers()) {
    co_await world_.compute(0,
                            [this, &piece] { replica_.weights_changed(piece.first, piece.count); });
  } else {
    co_await world_.compute(replica_.update_seconds(piece.count), [this, &piece, &info] {
      replica_.update(piece.first, piece.count, info.hyper);
    });
  }
}

Task<> ServerTraining::push(int id, const StepInfo& info, uint32_t round) {
  Lane& lane = lanes_[static_cast<size_t>(id)];
  const Rank server = server_of(lane.piece);
  const int priority = lane.piece.bucket;
  const Floats gradient = part(replica_.gradients(), lane.piece.first, lane.piece.count);
  scale(gradient, info.weight);
  const bool nothing = info.weight == 0 && !options_.sync.in_step();
  SparseGradient sparse;
  if (lane.residue && !nothing) sparse = lane.residue->encode(gradient);
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
  Source source{gradient.data, gradient.count * sizeof(float)};
  if (lane.residue) {
    source = {sparse.words.data(), sparse.words.size() * sizeof(uint32_t)};
  } else if (options_.wire.halves()) {
    pack_bf16(gradient, lane.packed);
    source = {lane.packed.data(), gradient.count * 2};
  }
  co_await world_.send(server, push_tag(id, round), source, priority);
}

Task<> ServerTraining::hear(int id, uint32_t round) {
  Lane& lane = lanes_[static_cast<size_t>(id)];
  const Piece& piece = lane.piece;
  const Rank server = server_of(piece);
  if (options_.permits > 0) {
    const std::byte ready{1};
    co_await world_.send(server, ready_tag(id, round), Source{&ready, 1}, piece.bucket);
  }
  Pull header;
  co_await world_.recv(server, reply_tag(id, round), Target{&header, sizeof(header)});
  lane.version = header.version;
  lane.late = header.late != 0;
  // It waited at the end of the way, but only how long counts.
  meter_.waited_for_others({world_.now() - header.waited_s, world_.now()});
}

Task<> ServerTraining::pull(int id, uint32_t round, bool exact) {
  const Piece& piece = lanes_[static_cast<size_t>(id)].piece;
  const Floats arena = options_.updates_at_servers() ? replica_.weights() : replica_.gradients();
  const Floats to = part(arena, piece.first, piece.count);
  const bool packed = options_.wire.halves() && !exact;
  const Target target{to.data, piece.count * (packed ? 2 : sizeof(float)),
                      packed ? Landing::widen : Landing::store};
  co_await world_.recv(server_of(piece), pull_tag(id, round), target);
}

/// The weights as they are now, without a gradient.
Task<> ServerTraining::refresh(int id) {
  Lane& lane = lanes_[static_cast<size_t>(id)];
  const uint32_t round = lane.round++;
  Push header;
  header.ask = Ask::agreement;
  header.step = agreements_;
  co_await world_.send(server_of(lane.piece), header_tag(id, round),
                       Source{&header, sizeof(header)});
  co_await hear(id, round);
  co_await pull(id, round, true);
}

/// Whoever waits for this worker's next step, ssp and backup, need not while it waits for others.
Task<> ServerTraining::rest() {
  co_await arrivals_.all();
  if (options_.sync.in_step()) co_return;
  Push header;
  header.ask = Ask::rest;
  for (size_t id = 0; id < lanes_.size(); ++id) {
    Lane& lane = lanes_[id];
    co_await world_.send(server_of(lane.piece), header_tag(static_cast<int>(id), lane.round++),
                         Source{&header, sizeof(header)});
  }
}

/// Where all have the same weights already they may be rounded ones.
Task<> ServerTraining::agree() {
  const bool rounded = options_.wire.halves() && options_.updates_at_servers();
  if (rounded || !options_.sync.in_step()) co_await beside_server(refresh_all());
}

Task<> ServerTraining::refresh_all() {
  ++agreements_;
  std::vector<Started> pulls;
  for (size_t id = 0; id < lanes_.size(); ++id) {
    pulls.emplace_back(world_, refresh(static_cast<int>(id)));
  }
  co_await world::join_all(world_, pulls);
  const size_t elements = replica_.layout().elements();
  co_await world_.compute(0, [&] { replica_.weights_changed(0, elements); });
}

Task<> ServerTraining::collect() {
  if (world_.rank() != 0 || !options_.updates_at_servers()) co_return;
  co_await beside_server(collect_kept());
}

Task<> ServerTraining::collect_kept() {
  const std::vector<Floats> kept = replica_.kept();
  const auto command = Command::collect;
  const uint32_t number = commands_++;
  for (int k = 0; k < servers_; ++k) {
    co_await world_.send(team_.server_rank(k), command_tag(number),
                         Source{&command, sizeof(command)});
  }
  for (size_t id = 0; id < lanes_.size(); ++id) {
    const Piece& piece = lanes_[id].piece;
    for (size_t arena = 0; arena < kept.size(); ++arena) {
      const Floats to = part(kept[arena], piece.first, piece.count);
      co_await world_.recv(server_of(piece),
                           arena_tag(static_cast<int>(id), static_cast<uint32_t>(arena) + 1),
                           Target{to.data, to.count * sizeof(float)});
    }
  }
}

Task<> ServerTraining::ask_servers(Command what) {
  const uint32_t number = commands_++;
  for (int k = 0; k < team_.servers; ++k) {
    co_await world_.send(team_.server_rank(k), command_tag(number), Source{&what, sizeof(what)});
  }
}

Task<> ServerTraining::end() { return beside_server(stop()); }

/// A worker that ended before the servers would be lost to them: all stay until these have ended.
Task<> ServerTraining::stop() {
  if (world_.rank() == 0) co_await stop_servers();
  if (serving_.valid()) co_await serving_.join();
  if (world_.rank() != 0) {
    co_await world_.recv(0, over_tag(), Target{});
    co_return;
  }
  for (Rank worker = 1; worker < team_.workers; ++worker) {
    try {
      co_await world_.send(worker, over_tag(), Source{});
    } catch (const world::PeerLost&) {
      continue;  // it no longer matters
    }
  }
}

Task<> ServerTraining::stop_servers() {
  const auto command = Command::stop;
  const uint32_t number = commands_++;
  for (int k = 0; k < servers_; ++k) {
    co_await world_.send(team_.server_rank(k), command_tag(number),
                         Source{&command, sizeof(command)});
    Report report;
    co_await world_.recv(team_.server_rank(k), report_tag(), Target{&report, sizeof(report)});
    for (size_t i = 0; i < report.staleness.size(); ++i) {
      report_.staleness[i] += report.staleness[i];
    }
    report_.dropped += report.dropped;
  }
}

Task<> ServerTraining::update_clipped(StepInfo info) {
  co_await arrivals_.all();
  const size_t elements = replica_.layout().elements();
  const Meter::Doing updates(meter_, Part::update);
  co_await world_.compute(replica_.update_seconds(elements), [&] {
    info.hyper.gradient_scale = optim::clip_scale(replica_.gradient_norm(), info.clip);
    replica_.update(0, elements, info.hyper);
  });
}

int64_t ServerTraining::updates() const {
  int64_t most = 0;
  if (!options_.sync.updates_one_by_one()) return most;
  for (const Lane& lane : lanes_) most = std::max(most, lane.version);
  return most;
}

std::map<int64_t, int64_t> ServerTraining::staleness() const {
  std::map<int64_t, int64_t> histogram;
  for (size_t i = 0; i < report_.staleness.size(); ++i) {
    if (report_.staleness[i] > 0) histogram[static_cast<int64_t>(i)] = report_.staleness[i];
  }
  return histogram;
}

}  // namespace syrtos::strategy

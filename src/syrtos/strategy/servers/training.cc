#include "syrtos/strategy/servers/training.h"

#include <algorithm>
#include <limits>

#include "syrtos/optim/clip.h"
#include "syrtos/strategy/all_reduce.h"
#include "syrtos/strategy/pass.h"

namespace syrtos::strategy {

using world::Event;
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
      client_(world, team, options, replica, meter_),
      commands_(world, team, options, replica),
      pieces_of_bucket_(replica.layout().buckets.size()),
      after_(static_cast<size_t>(client_.pieces()), -1),
      answered_(static_cast<size_t>(client_.pieces())),
      arrivals_(world, meter_, replica.layout().buckets.size()) {
  for (int id = 0; id < client_.pieces(); ++id) {
    pieces_of_bucket_[static_cast<size_t>(client_.piece(id).bucket)].push_back(id);
  }
  if (options.sync.in_step() && options.permits == 0) limit_pieces_underway();
  if (options.exchange.workers_serve()) {
    own_.emplace(world, team, options, optimizer, replica.layout());
  }
}

/// Pieces go in the order of their numbers, whichever order their gradients come in, so that no two
/// workers can wait for each other.
void ServerTraining::limit_pieces_underway() {
  std::vector<std::vector<int>> of_server(static_cast<size_t>(team_.serving()));
  for (int id = 0; id < client_.pieces(); ++id) {
    std::vector<int>& before = of_server[static_cast<size_t>(client_.piece(id).server)];
    if (before.size() >= kMostUnderway) {
      after_[static_cast<size_t>(id)] = before[before.size() - kMostUnderway];
    }
    before.push_back(id);
  }
}

Task<> ServerTraining::beside_server(Task<> task) {
  return own_ ? own_->beside(std::move(task)) : std::move(task);
}

Task<> ServerTraining::begin() {
  if (own_) own_->begin();
  co_await beside_server(start());
}

Task<> ServerTraining::start() {
  if (world_.rank() == 0) co_await commands_.begin();
  co_await broadcast_replica(world_, workers_, replica_);
}

Task<int64_t> ServerTraining::step(const StepInfo& info) {
  int64_t taken = 1;
  co_await beside_server(pass(info, taken));
  co_return taken;
}

Task<> ServerTraining::pass(const StepInfo& info, int64_t& taken) {
  const Over over = std::make_shared<Event>(world_);
  for (Over& answered : answered_) answered = std::make_shared<Event>(world_);
  co_await run_pass(world_, workers_, replica_, arrivals_, meter_, info.step,
                    [&](int bucket) { arrivals_.start(bucket, bring(bucket, info, over)); });
  over->set();
  if (info.clip > 0) co_await update_clipped(info);
  if (options_.sync.left_out() == 0) co_return;
  co_await arrivals_.all();
  taken = catch_up(info.step);
}

/// Whoever was too late has to catch up: its next step is the servers' next step. Returns by how
/// many it is further.
int64_t ServerTraining::catch_up(int64_t step) {
  int64_t next = std::numeric_limits<int64_t>::max();
  size_t late = 0;
  size_t all = 0;
  for (int id = 0; id < client_.pieces(); ++id) {
    const size_t count = client_.piece(id).count;
    next = std::min(next, client_.version(id));
    if (client_.was_late(id)) late += count;
    all += count;
  }
  counted_ = 1 - static_cast<double>(late) / static_cast<double>(all);
  return std::max<int64_t>(1, next - step);
}

Task<> ServerTraining::bring(int bucket, StepInfo info, Over over) {
  std::vector<Started> exchanges;
  for (const int id : pieces_of_bucket_[static_cast<size_t>(bucket)]) {
    exchanges.emplace_back(world_, exchange(id, info, over));
  }
  co_await world::join_all(world_, exchanges);
}

Task<> ServerTraining::exchange(int id, StepInfo info, Over over) {
  const uint32_t round = client_.begin_round(id);
  const Piece& piece = client_.piece(id);
  const Over answered = answered_[static_cast<size_t>(id)];
  if (const int after = after_[static_cast<size_t>(id)]; after >= 0) {
    const Over before = answered_[static_cast<size_t>(after)];
    co_await before->wait();
  }
  {
    const Meter::Crossing crossing(meter_, piece.bucket);
    co_await client_.push(id, round, info);
    // With permits nothing is said before this worker can receive.
    if (options_.permits == 0) co_await client_.receive_answer(id, round);
  }
  answered->set();
  co_await over->wait();
  {
    const Meter::Crossing crossing(meter_, piece.bucket);
    if (options_.permits > 0) co_await client_.receive_answer(id, round);
    co_await client_.pull(id, round, false);
  }
  co_await use(piece, info);
}

/// What was pulled becomes the weights of the next pass.
Task<> ServerTraining::use(const Piece& piece, const StepInfo& info) {
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

Task<> ServerTraining::update_clipped(StepInfo info) {
  co_await arrivals_.all();
  const size_t elements = replica_.layout().elements();
  const Meter::Doing updates(meter_, Part::update);
  co_await world_.compute(replica_.update_seconds(elements), [&] {
    info.hyper.gradient_scale = optim::clip_scale(replica_.gradient_norm(), info.clip);
    replica_.update(0, elements, info.hyper);
  });
}

/// Whoever waits for this worker's next step, ssp and backup, need not while it waits for others.
Task<> ServerTraining::settle_all() {
  co_await arrivals_.all();
  if (!options_.sync.in_step()) co_await client_.rest();
}

/// Where all have the same weights already they may be rounded ones.
Task<> ServerTraining::agree() {
  const bool rounded = options_.wire.halves() && options_.updates_at_servers();
  if (rounded || !options_.sync.in_step()) co_await beside_server(pull_agreed_weights());
}

Task<> ServerTraining::pull_agreed_weights() {
  ++agreements_;
  std::vector<Started> pulls;
  for (int id = 0; id < client_.pieces(); ++id) {
    pulls.emplace_back(world_, client_.pull_agreed(id, agreements_));
  }
  co_await world::join_all(world_, pulls);
  const size_t elements = replica_.layout().elements();
  co_await world_.compute(0, [&] { replica_.weights_changed(0, elements); });
}

Task<> ServerTraining::collect() {
  if (world_.rank() == 0) co_await beside_server(commands_.collect());
}

/// A worker that ended before the servers would be lost to them: all stay until these have ended.
Task<> ServerTraining::stop() {
  if (world_.rank() == 0) report_ = co_await commands_.stop();
  if (own_) co_await own_->end();
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

int64_t ServerTraining::updates() const {
  int64_t most = 0;
  if (!options_.sync.updates_one_by_one()) return most;
  for (int id = 0; id < client_.pieces(); ++id) most = std::max(most, client_.version(id));
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

#include "syrtos/strategy/server.h"

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/strategy/text.h"
#include "syrtos/strategy/wire.h"

namespace syrtos::strategy {

using world::Landing;
using world::Source;
using world::Started;
using world::Target;

namespace {

/// A permit that goes back whatever happens.
struct Permit {
  world::Semaphore* semaphore = nullptr;
  ~Permit() {
    if (semaphore != nullptr) semaphore->release();
  }
};

size_t elements_of(const std::vector<Piece>& pieces, int server) {
  size_t elements = 0;
  for (const Piece& piece : pieces) {
    if (piece.server == server) elements += piece.count;
  }
  return elements;
}

}  // namespace

Server::Server(World& world, const Team& team, const Options& options,
               const optim::OptimizerOptions& optimizer, const Layout& layout, int servers,
               int index, ServerObserver* observer)
    : world_(world),
      team_(team),
      options_(options),
      observer_(observer),
      elements_(elements_of(place_on_servers(layout, servers), index)),
      optimizer_(optimizer, world.carries_data() ? elements_ : 0),
      lost_(static_cast<size_t>(team.workers)),
      finished_(world) {
  const std::vector<Piece> pieces = place_on_servers(layout, servers);
  const bool data = world.carries_data();
  const bool synchronous = options.sync.in_step();
  size_t offset = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    if (piece.server != index) continue;
    Held& held = held_.emplace_back();
    held.id = static_cast<int>(i);
    held.piece = piece;
    held.offset = offset;
    held.segments = segments_in(layout, piece.first, piece.count);
    for (optim::Segment& segment : held.segments) {
      segment.offset = segment.offset - piece.first + offset;
    }
    for (Held::Sum& sum : held.sums) {
      sum.done = std::make_shared<world::Event>(world);
      const bool used = synchronous || (options.sync.left_out() > 0 && &sum == &held.sums[0]);
      if (data && used) sum.values.resize(piece.count);
    }
    held.clocks.resize(static_cast<size_t>(team.workers));
    held.resting.resize(static_cast<size_t>(team.workers));
    held.changed = std::make_unique<world::Condition>(world);
    offset += piece.count;
  }
  if (data) weights_.resize(elements_);
  if (options.permits > 0) {
    in_ = std::make_unique<world::Semaphore>(world, options.permits);
    out_ = std::make_unique<world::Semaphore>(world, options.permits);
  }
}

float* Server::weights_of(const Held& held) const {
  return weights_.empty() ? nullptr : const_cast<float*>(weights_.data()) + held.offset;
}

Floats Server::kept_of(const Held& held, size_t arena) const {
  const std::span<float> all = optimizer_.slots()[arena].span();
  return {all.empty() ? nullptr : all.data() + held.offset, held.piece.count};
}

Task<> Server::serve() {
  co_await receive_arenas();
  for (Held& held : held_) {
    for (Rank worker = 0; worker < team_.workers; ++worker) {
      tasks_.emplace_back(world_, guard(options_.sync.in_step() ? synchronous(worker, held)
                                                                : free_running(worker, held)));
    }
  }
  tasks_.emplace_back(world_, guard(obey()));
  co_await finished_.wait();
  if (error_) std::rethrow_exception(error_);
}

/// The first failure ends the server.
Task<> Server::guard(Task<> task) {
  try {
    co_await task;
  } catch (...) {
    if (!error_) error_ = std::current_exception();
    finished_.set();
  }
}

Task<> Server::receive_arenas() {
  for (Held& held : held_) {
    const size_t bytes = held.piece.count * sizeof(float);
    co_await world_.recv(0, arena_tag(held.id, 0), Target{weights_of(held), bytes});
    if (!options_.updates_at_servers()) continue;
    for (size_t arena = 0; arena < optimizer_.slots().size(); ++arena) {
      const Target target{kept_of(held, arena).data, bytes};
      co_await world_.recv(0, arena_tag(held.id, static_cast<uint32_t>(arena) + 1), target);
    }
  }
}

Task<> Server::obey() {
  for (uint32_t number = 0;; ++number) {
    Command command{};
    co_await receive_patiently(world_, 0, command_tag(number), Target{&command, sizeof(command)});
    if (command == Command::collect) {
      co_await send_kept();
    } else if (command != Command::stop) {
      SYRTOS_CHECK(observer_ != nullptr, "nobody has measured this server");
      co_await observer_->tell(command);
    } else {
      co_await world_.send(0, report_tag(), Source{&report_, sizeof(report_)});
      break;
    }
  }
  finished_.set();
}

void Server::note_step(const Push& push) {
  if (push.ask != Ask::step || push.step < step_) return;
  step_ = push.step + 1;
  if (observer_ != nullptr) observer_->step(step_);
}

Task<> Server::send_kept() {
  const Doing saves(*this, Part::checkpoint);
  for (Held& held : held_) {
    for (size_t arena = 0; arena < optimizer_.slots().size(); ++arena) {
      const Source source{kept_of(held, arena).data, held.piece.count * sizeof(float)};
      co_await world_.send(0, arena_tag(held.id, static_cast<uint32_t>(arena) + 1), source);
    }
  }
}

Task<> Server::synchronous(Rank worker, Held& held) {
  for (uint32_t round = 0;; ++round) {
    Push push;
    co_await receive_patiently(world_, worker, header_tag(held.id, round),
                               Target{&push, sizeof(push)});
    if (push.ask == Ask::agreement) {  // nobody pushes before all have what they asked for
      const Source exact{weights_of(held), held.piece.count * sizeof(float)};
      co_await reply(worker, held, round, Pull{held.version}, exact);
      continue;
    }
    note_step(push);
    Held::Sum& sum = held.sums[round % 2];
    co_await receive(worker, held, round, push, sum.values.data(), true);
    const double came = world_.now();
    const std::shared_ptr<world::Event> done = sum.done;
    if (++sum.arrived == team_.workers) {
      sum.complete_at = came;
      co_await finish_round(held, sum, push);
      done->set();
    } else {
      co_await done->wait();
    }
    const float* values = options_.updates_at_servers() ? weights_of(held) : sum.values.data();
    const bool packed = options_.wire.halves();
    const Source source = packed ? Source{sum.packed.data(), held.piece.count * 2}
                                 : Source{values, held.piece.count * sizeof(float)};
    const Pull pull{push.step + 1, 0, sum.complete_at - came};
    co_await reply(worker, held, round, pull, source);
    if (++sum.replied == team_.workers) {
      sum.replied = 0;
      if (!options_.updates_at_servers()) std::fill(sum.values.begin(), sum.values.end(), 0.0F);
    }
  }
}

Task<> Server::finish_round(Held& held, Held::Sum& sum, const Push& push) {
  const Doing updates(*this, Part::update);
  const double mean = 1.0 / team_.workers;
  const float* values = sum.values.data();
  if (options_.updates_at_servers()) {
    co_await update(held, sum.values.data(), push, mean);
    std::fill(sum.values.begin(), sum.values.end(), 0.0F);
    values = weights_of(held);
  } else {
    scale({sum.values.empty() ? nullptr : sum.values.data(), held.piece.count}, mean);
  }
  if (options_.wire.halves()) pack_bf16({const_cast<float*>(values), held.piece.count}, sum.packed);
  ++held.version;
  sum.arrived = 0;
  sum.done = std::make_shared<world::Event>(world_);
}

Task<> Server::receive(Rank worker, Held& held, uint32_t round, const Push& push, float* to,
                       bool add) {
  Permit permit;
  if (in_) {
    co_await in_->acquire();
    permit.semaphore = in_.get();
    const std::byte go{1};
    co_await world_.send(worker, permit_tag(held.id, round), Source{&go, 1});
  }
  const Doing receives(*this, Part::network);
  const Tag tag = push_tag(held.id, round);
  const size_t count = held.piece.count;
  if (options_.wire.sparse()) {
    if (push.words > count) {
      fail_run("{} sends {} sparse elements of {}", world_.name(worker), push.words, count);
    }
    std::vector<uint32_t> words(push.words);
    co_await world_.recv(worker, tag, Target{words.data(), words.size() * sizeof(uint32_t)});
    if (!add && to != nullptr) std::fill_n(to, count, 0.0F);
    add_sparse(words, options_.wire.threshold, {to, count});
  } else if (options_.wire.halves()) {
    co_await world_.recv(worker, tag,
                         Target{to, count * 2, add ? Landing::widen_add : Landing::widen});
  } else {
    co_await world_.recv(worker, tag,
                         Target{to, count * sizeof(float), add ? Landing::add : Landing::store});
  }
}

Task<> Server::reply(Rank worker, Held& held, uint32_t round, Pull pull, Source values) {
  Permit permit;
  if (out_) {
    // A permit in the hands of one that still computes would keep the others waiting.
    std::byte ready{};
    co_await receive_patiently(world_, worker, ready_tag(held.id, round), Target{&ready, 1});
    co_await out_->acquire();
    permit.semaphore = out_.get();
  }
  const Doing sends(*this, Part::network);
  if (!world_.carries_data()) values.data = nullptr;
  // The first layers' weights, which lie last, are needed first.
  const int priority = held.piece.bucket;
  co_await world_.send(worker, reply_tag(held.id, round), Source{&pull, sizeof(pull)}, priority);
  co_await world_.send(worker, pull_tag(held.id, round), values, priority);
}

Task<> Server::update(Held& held, const float* gradient, const Push& push, double gradient_scale) {
  const int64_t step = options_.sync.updates_one_by_one() ? held.version : push.updates;
  co_await world_.compute(
      options_.update_s_per_element * static_cast<double>(held.piece.count),
      [&] {
        const optim::Hyper hyper{.learning_rate = push.learning_rate,
                                 .weight_decay = push.weight_decay,
                                 .gradient_scale = gradient_scale,
                                 .step = step};
        // The optimiser sees whole arenas; only the segments of this piece are touched.
        const std::span<const float> gradients{gradient - held.offset, elements_};
        optimizer_.update(weights_, gradients, {}, held.segments, hyper);
      },
      update_where());
}

Task<> serve(World& world, Team team, Options options, optim::OptimizerOptions optimizer,
             ServerObserver* observer) {
  std::array<uint64_t, 2> sizes{};
  co_await world.recv(0, layout_tag(0), Target{sizes.data(), sizeof(sizes)});
  constexpr uint64_t kMost = 1U << 20;
  if (sizes[0] > kMost || sizes[1] > kMost) fail_run("rank 0 sent a layout that cannot be");
  Layout layout;
  layout.tensors.resize(sizes[0]);
  layout.buckets.resize(sizes[1]);
  co_await world.recv(0, layout_tag(1),
                      Target{layout.tensors.data(), sizes[0] * sizeof(optim::Segment)});
  co_await world.recv(0, layout_tag(2), Target{layout.buckets.data(), sizes[1] * sizeof(Bucket)});
  Server server(world, team, options, optimizer, layout, team.servers, world.rank() - team.workers,
                observer);
  co_await server.serve();
}

Task<> send_layout(World& world, const Team& team, const Layout& layout) {
  const std::array<uint64_t, 2> sizes{layout.tensors.size(), layout.buckets.size()};
  for (int k = 0; k < team.servers; ++k) {
    const Rank server = team.server_rank(k);
    co_await world.send(server, layout_tag(0), Source{sizes.data(), sizeof(sizes)});
    co_await world.send(server, layout_tag(1),
                        Source{layout.tensors.data(), sizes[0] * sizeof(optim::Segment)});
    co_await world.send(server, layout_tag(2),
                        Source{layout.buckets.data(), sizes[1] * sizeof(Bucket)});
  }
}

}  // namespace syrtos::strategy

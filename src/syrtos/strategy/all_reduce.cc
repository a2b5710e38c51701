#include "syrtos/strategy/all_reduce.h"

#include "syrtos/optim/clip.h"
#include "syrtos/strategy/pass.h"

namespace syrtos::strategy {

using world::Event;
using world::Purpose;
using world::Tag;

AllReduceTraining::AllReduceTraining(World& world, const Team& team, const Options& options,
                                     Replica& replica)
    : Strategy(world),
      world_(world),
      options_(options),
      replica_(replica),
      group_(collective::Group::of(world, team.worker_ranks())),
      arrivals_(world, meter_, replica.layout().buckets.size()) {
  if (options.wire.sparse()) {
    for (size_t i = 0; i < replica.layout().buckets.size(); ++i) {
      residues_.emplace_back(options.wire.threshold);
    }
  }
}

Task<> AllReduceTraining::begin() { return broadcast_replica(world_, group_, replica_); }

Task<int64_t> AllReduceTraining::step(const StepInfo& info) {
  const Over over = std::make_shared<Event>(world_);
  co_await run_pass(world_, group_, replica_, arrivals_, meter_, info.step,
                    [&](int bucket) { arrivals_.start(bucket, bring(bucket, info, over)); });
  over->set();
  if (info.clip > 0) co_await update_clipped(info);
  co_return 1;
}

Task<> AllReduceTraining::bring(int bucket, StepInfo info, Over over) {
  if (group_.size() > 1) {
    const Meter::Crossing crossing(meter_, bucket);
    if (options_.wire.sparse()) {
      co_await sum_sparse(bucket, info);
    } else {
      co_await sum(bucket, info);
    }
  }
  if (info.clip > 0) co_return;
  co_await over->wait();
  const Bucket& part = replica_.layout().buckets[static_cast<size_t>(bucket)];
  info.hyper.gradient_scale = 1.0 / group_.size();
  const Meter::Doing updates(meter_, Part::update);
  co_await world_.compute(replica_.update_seconds(part.count), [this, &part, &info] {
    replica_.update(part.first, part.count, info.hyper);
  });
}

Task<> AllReduceTraining::sum(int bucket, const StepInfo& info) {
  const Bucket& where = replica_.layout().buckets[static_cast<size_t>(bucket)];
  const Floats gradient = part(replica_.gradients(), where.first, where.count);
  scale(gradient, info.weight);
  collective::Exchange exchange = exchange_of(options_, bucket, static_cast<uint32_t>(info.step));
  exchange.scratch = &scratch_;
  co_await collective::all_reduce(world_, group_, gradient, exchange);
}

Task<> AllReduceTraining::sum_sparse(int bucket, const StepInfo& info) {
  const Bucket& where = replica_.layout().buckets[static_cast<size_t>(bucket)];
  const Floats gradient = part(replica_.gradients(), where.first, where.count);
  scale(gradient, info.weight);
  const SparseGradient mine = residues_[static_cast<size_t>(bucket)].encode(gradient);
  const std::span<const std::byte> bytes = mine.bytes();
  const Tag tag{Purpose::all_gather, static_cast<uint16_t>(bucket),
                static_cast<uint32_t>(info.step)};
  const auto all = co_await collective::all_gather_bytes(
      world_, group_, collective::Bytes(bytes.begin(), bytes.end()), tag);
  decode_sum(all, options_.wire.threshold, gradient);
}

Task<> AllReduceTraining::update_clipped(StepInfo info) {
  co_await arrivals_.all();
  const size_t elements = replica_.layout().elements();
  const Meter::Doing updates(meter_, Part::update);
  co_await world_.compute(replica_.update_seconds(elements), [&] {
    const double mean = 1.0 / group_.size();
    const double norm = replica_.gradient_norm() * mean;
    info.hyper.gradient_scale = mean * optim::clip_scale(norm, info.clip);
    replica_.update(0, elements, info.hyper);
  });
}

collective::Exchange exchange_of(const Options& options, int bucket, uint32_t round) {
  collective::Exchange exchange;
  exchange.algorithm = options.exchange.algorithm;
  exchange.wire = options.wire.halves() ? collective::Wire::bf16 : collective::Wire::f32;
  exchange.tag = {Purpose::all_reduce, static_cast<uint16_t>(bucket), round};
  exchange.priority = bucket;
  exchange.link = options.link;
  return exchange;
}

// Every worker has taken the same updates.
Task<> AllReduceTraining::agree() { co_return; }
Task<> AllReduceTraining::collect() { co_return; }
Task<> AllReduceTraining::end() { co_return; }

Task<> broadcast_replica(World& world, const collective::Group& group, Replica& replica) {
  if (group.size() == 1) co_return;
  std::vector<Floats> arenas = replica.kept();
  arenas.push_back(replica.weights());
  arenas.push_back(replica.states());
  for (size_t i = 0; i < arenas.size(); ++i) {
    const Tag tag{Purpose::broadcast, static_cast<uint16_t>(i), 0};
    co_await collective::broadcast(world, group, arenas[i].data, arenas[i].count * sizeof(float), 0,
                                   tag);
  }
  const size_t elements = replica.weights().count;
  co_await world.compute(0, [&] { replica.weights_changed(0, elements); });
}

}  // namespace syrtos::strategy

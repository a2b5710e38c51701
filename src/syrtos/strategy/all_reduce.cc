#include "syrtos/strategy/all_reduce.h"

#include <cmath>

#include "syrtos/optim/clip.h"
#include "syrtos/strategy/pass.h"

namespace syrtos::strategy {

using world::Purpose;
using world::Tag;

AllReduceTraining::AllReduceTraining(World& world, const Team& team, const Options& options,
                                     Replica& replica)
    : Strategy(world),
      world_(world),
      options_(options),
      replica_(replica),
      group_(collective::Group::of(world, team.part_ranks(team.part_of(world.rank())))),
      replica_group_(
          collective::Group::of(world, team.replica_ranks(team.replica_of(world.rank())))),
      blocks_(world, group_),
      messages_(world, meter_, replica_group_.members),
      over_(world),
      undo_(replica, options.goes_back() && group_.size() > 1),
      arrivals_(world, meter_, replica.layout().buckets.size()) {
  if (options.wire.sparse()) {
    for (size_t i = 0; i < replica.layout().buckets.size(); ++i) {
      residues_.emplace_back(options.wire.threshold);
    }
  } else {
    sums_ = prepare_sums(world, group_, options, replica.layout(), replica.gradients());
  }
}

Task<> AllReduceTraining::begin() { return broadcast_replica(world_, group_, replica_); }

Task<int64_t> AllReduceTraining::step(const StepInfo& info) {
  ++passes_;
  undo_.begin_step(info.step);
  undo_.copy_in_this_step();
  co_await run_pass(
      world_, group_, replica_, arrivals_, meter_, info.step,
      [this, &info](int bucket) { arrivals_.start(bucket, bring(bucket, info)); }, &blocks_,
      replica_group_.size() > 1 ? &messages_ : nullptr);
  passed_ = passes_;
  over_.notify_all();
  if (info.clip > 0) co_await update_clipped(info);
  co_return 1;
}

Task<> AllReduceTraining::settle() {
  co_await arrivals_.all();
  co_await messages_.settle();
}

Task<> AllReduceTraining::bring(int bucket, StepInfo info) {
  const int64_t pass = passes_;
  const Bucket& part = replica_.layout().buckets[static_cast<size_t>(bucket)];
  if (group_.size() > 1 && !part.divided) {
    const Meter::Crossing crossing(meter_, bucket);
    if (options_.wire.sparse()) {
      co_await sum_sparse(bucket, info);
    } else {
      co_await sum(bucket, info);
    }
  }
  if (info.clip > 0) co_return;
  while (passed_ < pass) co_await over_.wait();
  info.hyper.gradient_scale = 1.0 / group_.size();
  const Meter::Doing updates(meter_, Part::update);
  if (part.divided) {
    co_await update_parts(part, info);
    co_return;
  }
  co_await world_.compute(replica_.update_seconds(part.count),
                          [this, bucket, &info] { undo_.update(bucket, info.step, info.hyper); });
}

std::vector<collective::Range> AllReduceTraining::own_parts(const Bucket& bucket) const {
  const Layout& layout = replica_.layout();
  std::vector<collective::Range> parts;
  for (const DividedTensor& divided : layout.divided) {
    if (divided.tensor < bucket.first_tensor || divided.tensor >= bucket.last_tensor) continue;
    parts.push_back(divided.part_of(group_.index_of(world_.rank()),
                                    layout.tensors[static_cast<size_t>(divided.tensor)].offset));
  }
  return parts;
}

Task<> AllReduceTraining::update_parts(const Bucket& bucket, const StepInfo& info) {
  for (const collective::Range part : own_parts(bucket)) {
    co_await world_.compute(replica_.update_seconds(part.count), [this, part, &info] {
      replica_.update(part.first, part.count, info.hyper);
    });
  }
}

Task<> AllReduceTraining::sum(int bucket, const StepInfo& info) {
  const Bucket& where = replica_.layout().buckets[static_cast<size_t>(bucket)];
  const Floats gradient = part(replica_.gradients(), where.first, where.count);
  if (info.weight != 1) {
    co_await world_.compute(0, [&gradient, &info] { scale(gradient, info.weight); });
  }
  co_await sums_[static_cast<size_t>(bucket)]->run(static_cast<uint32_t>(info.step));
}

Task<> AllReduceTraining::sum_sparse(int bucket, const StepInfo& info) {
  const Bucket& where = replica_.layout().buckets[static_cast<size_t>(bucket)];
  const Floats gradient = part(replica_.gradients(), where.first, where.count);
  Residue& residue = residues_[static_cast<size_t>(bucket)];
  SparseGradient mine = SparseGradient::of_size(gradient.count);
  co_await world_.compute(0, [&] {
    scale(gradient, info.weight);
    mine = residue.encode(gradient);
  });
  const std::span<const std::byte> bytes = mine.bytes();
  const Tag tag{Purpose::all_gather, static_cast<uint16_t>(bucket),
                static_cast<uint32_t>(info.step)};
  const auto all = co_await collective::all_gather_bytes(
      world_, group_, collective::Bytes(bytes.begin(), bytes.end()), tag);
  co_await world_.compute(0, [&] { decode_sum(all, options_.wire.threshold, gradient); });
}

/// Of the whole network's gradient, summed over the workers that have the same part.
Task<double> AllReduceTraining::norm_of_all_parts() {
  double norm = 0;
  co_await world_.compute(0, [&] { norm = replica_.gradient_norm(); });
  if (replica_group_.size() == 1) co_return norm;
  float square = static_cast<float>(norm * norm);
  collective::ReduceOptions options;
  options.algorithm = collective::Algorithm::doubling;
  options.tag = {Purpose::statistics, 1, clipped_++};
  const Meter::Doing waits(meter_, Part::network);
  co_await collective::all_reduce(world_, replica_group_, Floats{&square, 1}, options);
  co_return std::sqrt(static_cast<double>(square));
}

Task<> AllReduceTraining::update_clipped(StepInfo info) {
  co_await arrivals_.all();
  const size_t elements = replica_.layout().elements();
  const double sum = co_await norm_of_all_parts();
  const Meter::Doing updates(meter_, Part::update);
  co_await world_.compute(replica_.update_seconds(elements), [&] {
    const double mean = 1.0 / group_.size();
    const double norm = sum * mean;
    info.hyper.gradient_scale = mean * optim::clip_scale(norm, info.clip);
    undo_.update_all(info.step, info.hyper);
  });
}

Task<std::optional<int64_t>> AllReduceTraining::go_back() {
  arrivals_.give_up();
  std::optional<int64_t> done;
  co_await world_.compute(0, [&] { done = undo_.go_back(); });
  co_return done;
}

std::vector<std::unique_ptr<collective::PreparedAllReduce>> prepare_sums(
    World& world, const collective::Group& group, const Options& options, const Layout& layout,
    const Floats& arena) {
  std::vector<std::unique_ptr<collective::PreparedAllReduce>> sums;
  if (group.size() == 1) return sums;
  for (size_t bucket = 0; bucket < layout.buckets.size(); ++bucket) {
    const Bucket& where = layout.buckets[bucket];
    if (where.divided) {
      sums.push_back(nullptr);
      continue;
    }
    const collective::ReduceOptions how{.algorithm = options.exchange.algorithm,
                                        .as_bf16 = options.wire.halves(),
                                        .tag = {Purpose::all_reduce, static_cast<uint16_t>(bucket)},
                                        .priority = static_cast<int>(bucket),
                                        .link = options.link};
    sums.push_back(std::make_unique<collective::PreparedAllReduce>(
        world, group, part(arena, where.first, where.count), how));
  }
  return sums;
}

// Every worker has taken the same updates of what is not divided.
Task<> AllReduceTraining::agree() {
  ++agreed_;
  const Layout& layout = replica_.layout();
  const int member = group_.index_of(world_.rank());
  for (const DividedTensor& divided : layout.divided) {
    const optim::Segment& tensor = layout.tensors[static_cast<size_t>(divided.tensor)];
    const Floats weights = part(replica_.weights(), tensor.offset, tensor.elements);
    const Tag tag{Purpose::all_gather, static_cast<uint16_t>(divided.tensor), agreed_};
    co_await run_rounds(world_, group_, collective::all_gather_rounds(member, divided.elements),
                        {.data = weights.data, .element_bytes = sizeof(float), .tag = tag});
    co_await world_.compute(0, [&] { replica_.weights_changed(tensor.offset, tensor.elements); });
  }
}

Task<> AllReduceTraining::collect() {
  const Layout& layout = replica_.layout();
  const int member = group_.index_of(world_.rank());
  const std::vector<Floats> kept = replica_.kept();
  for (size_t i = 0; i < kept.size(); ++i) {
    for (const DividedTensor& divided : layout.divided) {
      const size_t offset = layout.tensors[static_cast<size_t>(divided.tensor)].offset;
      const size_t mine = member == 0 ? offset : divided.part_of(member, offset).first;
      const Tag tag{Purpose::gather, static_cast<uint16_t>(divided.tensor), agreed_,
                    static_cast<uint8_t>(i)};
      co_await run_rounds(
          world_, group_, collective::gather_rounds(member, 0, divided.elements),
          {.data = part(kept[i], mine, 0).data, .element_bytes = sizeof(float), .tag = tag});
    }
  }
}

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

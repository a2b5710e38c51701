#include "syrtos/train/network/replica.h"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/train/network/outputs.h"

namespace syrtos::train {

using strategy::Floats;

namespace {

Floats floats(std::span<float> values) { return {values.data(), values.size()}; }

/// combine(a, b) becomes a, for each element.
template <typename Combine>
void for_each_element(std::span<float> a, std::span<const float> b, Combine combine) {
  float* to = a.data();
  const float* from = b.data();
  parallel_for(static_cast<int64_t>(a.size()), 4096, 65536, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = combine(to[i], from[i]);
  });
}

void put_scaled(std::span<float> to, std::span<const float> values, float factor) {
  for_each_element(to, values, [factor](float, float value) { return factor * value; });
}

void add_scaled(std::span<float> to, std::span<const float> values, float factor) {
  for_each_element(to, values, [factor](float sum, float value) { return sum + factor * value; });
}

void scale_and_add(std::span<float> to, float factor, std::span<const float> more) {
  for_each_element(to, more, [factor](float value, float sum) { return sum + factor * value; });
}

std::vector<const graph::Program*> programs_of(CompiledNetwork& network) {
  std::vector<const graph::Program*> programs;
  const int64_t samples = network.training().batch();
  for (size_t piece = 0; piece < network.pieces(); ++piece) {
    programs.push_back(
        &network.training(samples, network.division().batch_of_all, {piece, 0}).program());
  }
  return programs;
}

}  // namespace

std::vector<optim::Segment> tensors_of(const graph::Parameters& parameters) {
  std::vector<optim::Segment> tensors;
  for (const graph::ParameterSlot& slot : parameters.slots()) {
    if (slot.frozen()) break;  // with all behind it
    tensors.push_back({slot.offset, slot.elements, slot.decay, slot.rate});
  }
  return tensors;
}

NetworkReplica::NetworkReplica(CompiledNetwork& network, optim::Optimizer& optimizer,
                               strategy::Layout layout, std::vector<KeptArena> kept,
                               const Accumulation& accumulation)
    : network_(network),
      optimizer_(optimizer),
      layout_(std::move(layout)),
      kept_(std::move(kept)),
      norm_(network.parameters().weights().size()),
      accumulated_(accumulation.sums),
      maker_(network, layout_, accumulation.parts > 1 ? network.training().batch() : 0,
             accumulation.pipeline, accumulation.station, buffers_),
      profile_(programs_of(network), accumulation.parts) {
  strategy::Stage all;
  for (size_t bucket = 0; bucket < layout_.buckets.size(); ++bucket) {
    all.needs.push_back(static_cast<int>(bucket));
    all.finishes.push_back(static_cast<int>(bucket));
  }
  empty_pass_.push_back(std::move(all));
}

const StagedPass& NetworkReplica::staged(const Size& size) {
  const auto known = staged_.find(size);
  if (known != staged_.end()) return known->second;
  StagedPass made = maker_.make(size.first, size.second);
  for (size_t i = 0; replay_ && i < made.parts.size(); ++i) {
    replay_times(made.parts[i]);
    made.stages[i].seconds = made.parts[i].replayed.forward_s + made.parts[i].replayed.backward_s;
  }
  return staged_.emplace(size, std::move(made)).first->second;
}

void NetworkReplica::replay_times(PassStage& stage) const {
  const std::vector<double> seconds = replay_->of(*stage.program, stage.piece);
  const std::vector<graph::Program::Item>& items = stage.program->program().items();
  for (size_t item = stage.part.first; item < stage.part.last; ++item) {
    const bool forward = items[item].phase == graph::Phase::forward;
    (forward ? stage.replayed.forward_s : stage.replayed.backward_s) += seconds[item];
  }
}

void NetworkReplica::replay(const strategy::ComputeTimes& times) {
  replay_.emplace(network_, layout_.tensors, times);
  staged_.clear();
}

void NetworkReplica::take(const data::Batch& batch, int64_t of_all) {
  batch_ = batch;
  pass_ = batch.slice.count > 0 ? &staged({batch.slice.count, of_all}) : nullptr;
}

void NetworkReplica::begin(const ops::Step& step) {
  step_ = step;
  sums_ = {};
  last_ = nullptr;
  times_.assign(stages().size(), {});
}

const std::vector<strategy::Stage>& NetworkReplica::stages() const {
  return pass_ != nullptr ? pass_->stages : empty_pass_;
}

ops::Step NetworkReplica::step_of(const MicroBatch& micro) const {
  ops::Step step = step_;
  step.first_sample += micro.first;
  return step;
}

void NetworkReplica::run(size_t stage) {
  if (pass_ == nullptr) {
    const std::span<float> gradients = network_.parameters().gradients();
    std::fill(gradients.begin(), gradients.end(), 0.0F);
    return;
  }
  const PassStage& part = pass_->parts[stage];
  if (replay_) {
    times_[stage] = part.replayed;
    sleep_through(times_[stage].forward_s + times_[stage].backward_s);
  } else {
    compute(stage);
  }
  end_stage(stage);
}

void NetworkReplica::compute(size_t stage) {
  const PassStage& part = pass_->parts[stage];
  const MicroBatch& micro = pass_->micros[part.micro];
  graph::Program& program = part.program->program();
  if (part.part.first == 0) part.program->use(batch_, micro.first, micro.count);
  const strategy::Stage& crossing = pass_->stages[stage];
  for (size_t i = 0; i < crossing.arrives.size(); ++i) {
    program.put(*part.part.arrives[i], static_cast<const std::byte*>(crossing.arrives[i].memory));
  }
  const bool whole = part.program->batch() == network_.training().batch();
  program.run_items(part.part.first, part.part.last, step_of(micro), times_[stage],
                    whole ? &profile_.of(part.piece) : nullptr);
  for (size_t i = 0; i < crossing.leaves.size(); ++i) {
    program.take_away(*part.part.leaves[i], static_cast<std::byte*>(crossing.leaves[i].memory));
  }
}

/// Adds up gradients: a piece's whole ones after each micro-batch but the last, of the last one
/// each bucket when it is final.
void NetworkReplica::end_stage(size_t stage) {
  const PassStage& part = pass_->parts[stage];
  const MicroBatch& micro = pass_->micros[part.micro];
  const bool is_last = part.micro + 1 == pass_->micros.size();
  if (part.ends && part.program->has_results()) {
    if (is_last) {
      last_ = &part;
    } else {
      sums_ += sums_of(part);
    }
  }
  if (replay_ || pass_->micros.size() == 1) return;
  const std::span<float> gradients = network_.parameters().gradients();
  if (!is_last) {
    if (!part.ends) return;
    const auto [first, count] = pass_->ranges[part.piece];
    const auto sum = accumulated_.subspan(first, count);
    if (part.micro == 0) {
      put_scaled(sum, gradients.subspan(first, count), micro.weight);
    } else {
      add_scaled(sum, gradients.subspan(first, count), micro.weight);
    }
    return;
  }
  for (const int bucket : pass_->stages[stage].finishes) {
    const strategy::Bucket& where = layout_.buckets[static_cast<size_t>(bucket)];
    scale_and_add(gradients.subspan(where.first, where.count), micro.weight,
                  accumulated_.subspan(where.first, where.count));
  }
}

strategy::Sums NetworkReplica::sums_of(const PassStage& stage) const {
  const MicroBatch& micro = pass_->micros[stage.micro];
  const NetworkProgram& program = *stage.program;
  const auto each = static_cast<size_t>(program.task().target_values(program.outputs()));
  const auto targets = batch_.targets.subspan(static_cast<size_t>(micro.first) * each,
                                              static_cast<size_t>(micro.count) * each);
  const double loss = replay_ ? 0 : static_cast<double>(program.loss());
  return {loss * static_cast<double>(micro.count),
          score_of(program.task(), program.logits(), targets, micro.count), micro.count};
}

strategy::Sums NetworkReplica::sums() const {
  strategy::Sums all = sums_;
  if (last_ != nullptr) all += sums_of(*last_);
  return all;
}

const graph::Program::Item* NetworkReplica::find_non_finite() {
  if (network_.division().in_pieces()) return nullptr;
  for (const PassStage& stage : pass_->parts) {
    if (stage.part.first > 0) continue;
    const MicroBatch& micro = pass_->micros[stage.micro];
    stage.program->use(batch_, micro.first, micro.count);
    const graph::Program::Item* item = stage.program->program().find_non_finite(step_of(micro));
    if (item != nullptr) return item;
  }
  return nullptr;
}

/// A sleep ends late, above all where hosts share cores. The next one is shorter by that if it
/// follows at once; otherwise whoever waited has made up for it already.
void NetworkReplica::sleep_through(double seconds) {
  constexpr double kAtOnce = 200e-6;  // s
  // Otherwise a sleep ends up to 50 us late: too much for small kernels.
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  const auto start = Clock::now();
  if (std::chrono::duration<double>(start - slept_until_).count() > kAtOnce) late_s_ = 0;
  const double rest = seconds - std::min(seconds, late_s_);
  std::this_thread::sleep_for(std::chrono::duration<double>(rest));
  late_s_ = seconds_since(start) - rest;
  slept_until_ = Clock::now();
}

double NetworkReplica::forward_share(size_t stage) const {
  const double both = times_[stage].forward_s + times_[stage].backward_s;
  return both > 0 ? times_[stage].forward_s / both : 0;
}

Floats NetworkReplica::weights() { return floats(network_.parameters().weights()); }
Floats NetworkReplica::gradients() { return floats(network_.parameters().gradients()); }
Floats NetworkReplica::states() { return floats(network_.parameters().state()); }

std::vector<Floats> NetworkReplica::kept() {
  std::vector<Floats> arenas;
  for (const KeptArena& arena : kept_) arenas.push_back(floats(arena.values));
  return arenas;
}

void NetworkReplica::update(size_t first, size_t count, const optim::Hyper& hyper) {
  if (replay_) {
    sleep_through(update_seconds(count));
  } else {
    graph::Parameters& parameters = network_.parameters();
    segments_in(layout_, first, count, segments_);
    optimizer_.update(parameters.weights(), parameters.gradients(), parameters.working(), segments_,
                      hyper);
  }
}

/// Known when it is replayed; elsewhere it takes the time that it takes.
double NetworkReplica::update_seconds(size_t count) const {
  return replay_ ? replay_->update_seconds(count) : 0;
}

void NetworkReplica::weights_changed(size_t first, size_t count) {
  const graph::Parameters& parameters = network_.parameters();
  const std::span<BFloat16> copies = parameters.working();
  if (copies.empty()) return;
  const float* from = parameters.weights().data() + first;
  BFloat16* to = copies.data() + first;
  parallel_for(static_cast<int64_t>(count), 4096, 65536, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = BFloat16(from[i]);
  });
}

double NetworkReplica::gradient_norm() { return norm_(network_.parameters().gradients()); }

}  // namespace syrtos::train

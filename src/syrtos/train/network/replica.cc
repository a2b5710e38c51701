#include "syrtos/train/network/replica.h"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"

namespace syrtos::train {

using strategy::Floats;

namespace {

Floats floats(std::span<float> values) { return {values.data(), values.size()}; }

/// Of items first .. last - 1 of `count`. A few kernels more or less than were measured, as other
/// batch sizes have them, stretch or shorten the list.
double seconds_of(const std::vector<double>& measured, size_t first, size_t last, size_t count) {
  const double scale = static_cast<double>(measured.size()) / static_cast<double>(count);
  const double begin = static_cast<double>(first) * scale;
  const double end = static_cast<double>(last) * scale;
  double sum = 0;
  for (size_t i = 0; i < measured.size(); ++i) {
    const auto at = static_cast<double>(i);
    sum += measured[i] * std::clamp(std::min(end, at + 1) - std::max(begin, at), 0.0, 1.0);
  }
  return sum;
}

}  // namespace

std::vector<optim::Segment> tensors_of(const graph::Parameters& parameters) {
  std::vector<optim::Segment> tensors;
  for (const graph::ParameterSlot& slot : parameters.slots()) {
    tensors.push_back({slot.offset, slot.elements, slot.decay, slot.rate});
  }
  return tensors;
}

NetworkReplica::NetworkReplica(CompiledNetwork& network, optim::Optimizer& optimizer,
                               strategy::Layout layout, std::vector<KeptArena> kept)
    : network_(network),
      optimizer_(optimizer),
      layout_(std::move(layout)),
      kept_(std::move(kept)),
      norm_(network.parameters().weights().size()),
      profile_(network.training().program()) {
  strategy::Stage all;
  for (size_t bucket = 0; bucket < layout_.buckets.size(); ++bucket) {
    all.needs.push_back(static_cast<int>(bucket));
    all.finishes.push_back(static_cast<int>(bucket));
  }
  empty_pass_.push_back(std::move(all));
}

const NetworkReplica::StagedProgram& NetworkReplica::staged(NetworkProgram& program) {
  const auto known = staged_.find(&program.program());
  if (known != staged_.end()) return known->second;
  StagedProgram made;
  made.parts = graph::parts_of_pass(program.program(), strategy::bucket_of_tensor(layout_));
  for (const graph::PassPart& part : made.parts) {
    strategy::Stage& stage = made.stages.emplace_back();
    stage.needs = part.needs;
    stage.finishes = part.finishes;
    for (const std::span<float> sums : part.sums) stage.sums.push_back(floats(sums));
  }
  if (replay_) {
    const std::vector<double> measured = replay_->pass_of(program.batch()).items;
    const std::vector<graph::Program::Item>& items = program.program().items();
    for (size_t i = 0; i < made.parts.size(); ++i) {
      graph::PhaseTimes& times = made.replayed.emplace_back();
      for (size_t item = made.parts[i].first; item < made.parts[i].last; ++item) {
        const bool forward = items[item].phase == graph::Phase::forward;
        (forward ? times.forward_s : times.backward_s) +=
            seconds_of(measured, item, item + 1, items.size());
      }
      made.stages[i].seconds = times.forward_s + times.backward_s;
    }
  }
  return staged_.emplace(&program.program(), std::move(made)).first->second;
}

void NetworkReplica::replay(const strategy::ComputeTimes& times) {
  const std::string name = network_.network().name();
  std::vector<size_t> tensors;
  for (const optim::Segment& tensor : layout_.tensors) tensors.push_back(tensor.elements);
  // With other instruction sets tensors are padded in another way, so the name is enough.
  const bool fits = times.network == name || times.tensors == tensors;
  if (!fits || times.passes[0].items.empty()) {
    fail_request("--replay: expected the kernel times of {}, found {} of {}", name,
                 times.passes[0].items.empty() ? "none" : "those", times.network);
  }
  replay_ = times;
  staged_.clear();
}

void NetworkReplica::begin(int64_t samples, const ops::Step& step) {
  step_ = step;
  program_ = samples > 0 ? &network_.training(samples) : nullptr;
  if (program_ != nullptr) pass_ = &staged(*program_);
  times_.assign(stages().size(), {});
}

const std::vector<strategy::Stage>& NetworkReplica::stages() const {
  return program_ != nullptr ? pass_->stages : empty_pass_;
}

void NetworkReplica::run(size_t stage) {
  if (program_ == nullptr) {
    const std::span<float> gradients = network_.parameters().gradients();
    std::fill(gradients.begin(), gradients.end(), 0.0F);
    return;
  }
  if (replay_) {
    times_[stage] = pass_->replayed[stage];
    sleep_through(times_[stage].forward_s + times_[stage].backward_s);
    return;
  }
  const graph::PassPart& part = pass_->parts[stage];
  KernelTimes* profile = program_ == &network_.training() ? &profile_ : nullptr;
  program_->program().run_items(part.first, part.last, step_, times_[stage], profile);
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
  if (!replay_) return 0;
  return replay_->update_s * static_cast<double>(count) / static_cast<double>(layout_.elements());
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

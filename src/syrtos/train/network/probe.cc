#include "syrtos/train/network/probe.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/base/statistics.h"
#include "syrtos/data/sets/random_data.h"
#include "syrtos/graph/columns.h"
#include "syrtos/graph/pass_parts.h"
#include "syrtos/graph/passes.h"
#include "syrtos/optim/optimizer.h"
#include "syrtos/train/network/compiled_network.h"
#include "syrtos/train/network/replica.h"

namespace syrtos::train {

namespace {

/// The least that is done, before and while it is measured.
struct Least {
  int warm_up_steps = 3;
  double warm_up_seconds = 0.3;
  size_t steps = 5;
};
constexpr Least kUsual = {};
constexpr Least kBrief = {.warm_up_steps = 1, .warm_up_seconds = 0.1, .steps = 2};
constexpr size_t kMostSteps = 100000;
constexpr double kMegabyte = 1024.0 * 1024.0;

struct Times {
  std::vector<double> step, forward, backward, update;
};

/// One network with its optimizer, stepping over the same random batch.
class Probe {
 public:
  Probe(const nn::Network& network, const nn::ModelOptions& options)
      : network_(network, options, CompiledNetwork::Use::training),
        numbers_below_(network.numbers_below(options.classes)),
        optimizer_({.method = optim::Method::momentum}, network_.parameters().weights().size()) {
    bytes_ = network_.bytes();
    for (const auto& slot : optimizer_.slots()) bytes_ += static_cast<int64_t>(slot.values.size());
    require_memory(bytes_, fmt::format("{} with a batch of {}", network.name(), options.batch));
    segments_ = optim::merged(tensors_of(network_.parameters()));
    network_.initialize(1);
    fill(options);
  }

  void step(Times* times) {
    const Clock::time_point start = Clock::now();
    const graph::PhaseTimes phases =
        network_.training().program().run({.seed = 1, .step = step_number_++});
    const Clock::time_point update = Clock::now();
    const graph::Parameters& parameters = network_.parameters();
    // A small rate, so that any network stays finite: time does not depend on it.
    optimizer_.update(parameters.weights(), parameters.gradients(), parameters.working(), segments_,
                      {.learning_rate = 1e-5, .weight_decay = 1e-4});
    if (times == nullptr) return;
    times->update.push_back(seconds_since(update));
    times->step.push_back(seconds_since(start));
    times->forward.push_back(phases.forward_s);
    times->backward.push_back(phases.backward_s);
  }

  int64_t bytes() const { return bytes_; }
  graph::Program& program() { return network_.training().program(); }
  const graph::Parameters& parameters() const { return network_.parameters(); }
  const graph::Graph& graph() const { return network_.model().graph; }
  int64_t step_number() const { return step_number_; }

 private:
  void fill(const nn::ModelOptions& options) {
    const Shape image = {options.channels, options.height, options.width};
    data::RandomDataset data(options.batch, image, options.classes, 1);
    if (numbers_below_ > 0) data.make_whole(numbers_below_);
    const data::Transform transform(data.info(), image, {{0}, {1}}, {}, options.dtype);
    data::Loader loader(data, transform,
                        {.batch = options.batch, .training = false, .prefetch = 0});
    const data::Batch batch = loader.next();
    network_.training().use(batch);
    std::memcpy(network_.training().use_own_images(), batch.images,
                transform.bytes() * static_cast<size_t>(options.batch));
  }

  CompiledNetwork network_;
  int64_t numbers_below_ = 0;
  int64_t bytes_ = 0;
  optim::Optimizer optimizer_;
  std::vector<optim::Segment> segments_;
  int64_t step_number_ = 0;
};

std::vector<ProbeGroup> grouped(
    const graph::Program& program, const std::vector<double>& seconds,
    const std::function<std::string(const graph::Program::Item&)>& key) {
  std::map<std::string, ProbeGroup> groups;
  for (size_t i = 0; i < seconds.size(); ++i) {
    const graph::Program::Item& item = program.items()[i];
    ProbeGroup& group = groups[key(item)];
    ++group.count;
    group.ms += seconds[i] * 1e3;
    group.gflops += item.flops;
  }
  std::vector<ProbeGroup> result;
  for (auto& [name, group] : groups) {
    group.name = name;
    group.gflops = group.ms > 0 ? group.gflops / group.ms / 1e6 : 0;
    result.push_back(group);
  }
  std::sort(result.begin(), result.end(),
            [](const ProbeGroup& a, const ProbeGroup& b) { return a.ms > b.ms; });
  return result;
}

/// When each tensor is first needed, and when its gradient is final.
void note_moments(const graph::Program& program, strategy::ComputeTimes::Pass& pass) {
  const size_t tensors = tensors_of(program.parameters()).size();
  std::vector<int> own_bucket(tensors);
  std::iota(own_bucket.begin(), own_bucket.end(), 0);
  pass.needed.assign(tensors, 0);
  pass.ready.assign(tensors, pass.seconds);
  double now = 0;
  for (const graph::PassPart& stage : graph::parts_of_pass(program, own_bucket)) {
    for (const int tensor : stage.needs) pass.needed[static_cast<size_t>(tensor)] = now;
    for (size_t i = stage.first; i < stage.last; ++i) now += pass.items[i];
    for (const int tensor : stage.finishes) pass.ready[static_cast<size_t>(tensor)] = now;
  }
}

/// How long each layer computes, whatever its kernels are.
void note_layers(const graph::Program& program, strategy::ComputeTimes& times) {
  strategy::ComputeTimes::Pass& pass = times.passes.back();
  pass.forward.assign(times.layers.size(), 0);
  pass.backward = pass.forward;
  for (size_t i = 0; i < program.items().size(); ++i) {
    const graph::Program::Item& item = program.items()[i];
    const auto layer = std::find(times.layers.begin(), times.layers.end(), item.layer);
    if (layer == times.layers.end()) continue;
    auto& seconds = item.phase == graph::Phase::forward ? pass.forward : pass.backward;
    seconds[static_cast<size_t>(layer - times.layers.begin())] += pass.items[i];
  }
}

/// The network's layers and the names of what is trained.
void note_names(const Probe& probe, strategy::ComputeTimes& times) {
  for (size_t i = 0; i < times.tensors.size(); ++i) {
    times.names.push_back(probe.parameters().slots()[i].name);
  }
  for (const graph::Node& node : probe.graph().nodes()) {
    const bool known =
        std::find(times.layers.begin(), times.layers.end(), node.name) != times.layers.end();
    if (!known) times.layers.push_back(node.name);
  }
}

/// The dense layers that workers can divide between them.
void note_dense(const Probe& probe, strategy::ComputeTimes& times) {
  graph::Graph graph = probe.graph();
  graph::recognise(graph);
  const graph::Parameters& parameters = probe.parameters();
  const auto index_of = [&](const std::string& name) {
    return static_cast<size_t>(parameters.find(name) - parameters.slots().data());
  };
  for (const graph::DenseLayer& layer : graph::dense_layers(graph)) {
    strategy::ComputeTimes::Dense& dense = times.dense.emplace_back();
    dense.tensor = index_of(layer.weight);
    dense.shape = {static_cast<size_t>(layer.inputs), static_cast<size_t>(layer.outputs),
                   size_of(layer.dtype)};
    if (!layer.bias.empty()) dense.bias = index_of(layer.bias);
  }
  std::sort(times.dense.begin(), times.dense.end(),
            [](const auto& a, const auto& b) { return a.tensor < b.tensor; });
}

void profile(Probe& probe, size_t runs, ProbeResult& result) {
  graph::Program& program = probe.program();
  std::vector<std::vector<double>> samples(program.items().size());
  for (size_t run = 0; run < runs; ++run) {
    const auto seconds = program.profile({.seed = 1, .step = probe.step_number()});
    for (size_t i = 0; i < seconds.size(); ++i) samples[i].push_back(seconds[i]);
  }
  std::vector<double> medians;
  medians.reserve(samples.size());
  for (const auto& sample : samples) medians.push_back(median(sample));
  // Kernels timed one by one take a little longer than a pass.
  double sum = 0;
  for (const double seconds : medians) sum += seconds;
  const double whole = (result.t_forward_ms + result.t_backward_ms) / 1e3;
  strategy::ComputeTimes::Pass& pass = result.times.passes.emplace_back();
  pass.batch = result.batch;
  pass.seconds = whole;
  pass.memory = static_cast<double>(probe.bytes());
  for (const double seconds : medians) pass.items.push_back(seconds * whole / sum);
  note_moments(program, pass);
  note_layers(program, result.times);
  result.by_operation =
      grouped(program, medians, [](const graph::Program::Item& item) { return item.operation; });
  result.by_kernel = grouped(program, medians, [](const graph::Program::Item& item) {
    return item.layer + "  " + item.operation + "  " + item.kernel->implementation();
  });
}

/// Adds the pass that was measured, or takes it in place of a longer one. What is common to all
/// batches is that of the largest.
void keep_better(strategy::ComputeTimes& times, const strategy::ComputeTimes& measured) {
  std::vector<strategy::ComputeTimes::Pass> passes = std::move(times.passes);
  const strategy::ComputeTimes::Pass& pass = measured.passes[0];
  const auto at = std::find_if(passes.begin(), passes.end(),
                               [&](const auto& known) { return known.batch >= pass.batch; });
  const bool known = at != passes.end() && at->batch == pass.batch;
  const bool largest = at == passes.end() || (known && at + 1 == passes.end());
  const bool better = !known || pass.seconds < at->seconds;
  if (largest && better) times = measured;
  if (known && better) {
    *at = pass;
  } else if (!known) {
    passes.insert(at, pass);
  }
  times.passes = std::move(passes);
}

}  // namespace

ProbeResult probe_compute(const nn::Network& network, const ProbeOptions& options,
                          const std::function<bool()>& should_stop) {
  ProbeResult result;
  result.network = network.name();
  result.batch = options.batch;
  result.precision = options.precision;
  result.threads = options.threads;
  result.classes = options.classes > 0 ? options.classes : network.info().classes;
  result.image = options.image.rank() > 0 ? options.image : network.info().image();
  const ThreadScope threads(options.threads);

  Probe probe(network, {.batch = result.batch,
                        .classes = result.classes,
                        .channels = result.image[0],
                        .height = result.image[1],
                        .width = result.image[2],
                        .dtype = result.precision.dtype});
  const auto stopped = [&] { return should_stop && should_stop(); };
  const Clock::time_point warm_up = Clock::now();
  const Least& least = options.brief ? kBrief : kUsual;
  for (int step = 0;
       (step < least.warm_up_steps || seconds_since(warm_up) < least.warm_up_seconds) && !stopped();
       ++step) {
    probe.step(nullptr);
  }
  Times times;
  const Clock::time_point start = Clock::now();
  while ((times.step.size() < least.steps || seconds_since(start) < options.seconds) &&
         times.step.size() < kMostSteps && !stopped()) {
    probe.step(&times);
  }

  result.parameters = probe.parameters().count();
  result.steps = static_cast<int64_t>(times.step.size());
  result.t_step_ms = median(times.step) * 1e3;
  if (!times.step.empty()) {
    result.t_fastest_ms = *std::min_element(times.step.begin(), times.step.end()) * 1e3;
  }
  result.t_forward_ms = median(times.forward) * 1e3;
  result.t_backward_ms = median(times.backward) * 1e3;
  result.t_update_ms = median(times.update) * 1e3;
  if (result.t_step_ms > 0) result.gflops = probe.program().flops() / result.t_step_ms / 1e6;
  result.arena_mb = static_cast<double>(probe.program().arena_bytes()) / kMegabyte;
  result.peak_rss_mb = static_cast<double>(peak_rss_bytes()) / kMegabyte;
  if (!options.profile || stopped()) return result;
  result.times.network = result.network;
  result.times.precision = to_string(result.precision.dtype);
  result.times.threads = result.threads;
  result.times.update_s = result.t_update_ms / 1e3;
  result.times.jitter = std::min(0.5, relative_spread(times.step));
  for (const optim::Segment& tensor : tensors_of(probe.parameters())) {
    result.times.tensors.push_back(tensor.elements);
  }
  note_names(probe, result.times);
  note_dense(probe, result.times);
  profile(probe, std::min<size_t>(times.step.size(), 21), result);
  return result;
}

strategy::ComputeTimes probe_times(const nn::Network& network, ProbeOptions options,
                                   std::vector<int64_t> batches,
                                   const std::function<bool()>& should_stop) {
  std::sort(batches.begin(), batches.end());
  batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
  options.profile = true;
  strategy::ComputeTimes times;
  // Other programs make steps longer and never shorter: what is doubtful is measured again, and of
  // each batch the shortest counts.
  constexpr int kTries = 3;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    for (const int64_t batch : batches) {
      options.batch = batch;
      const ProbeResult result = probe_compute(network, options, should_stop);
      if (result.times.passes.empty()) return times;  // stopped
      keep_better(times, result.times);
    }
    if (strategy::doubt_of(times).empty()) break;
  }
  return times;
}

}  // namespace syrtos::train

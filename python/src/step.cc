#include "step.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "syrtos/api/settle.h"
#include "syrtos/base/crc32.h"
#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/job/resolve.h"
#include "syrtos/train/network/replica.h"

namespace syrtos::python {

namespace nb = nanobind;

namespace {

/// The parts of a job that a step is made of, found as those of a training are.
job::Job resolved(const nn::Network& network, const std::vector<int64_t>& input,
                  const Keywords& keywords, const PyGroup* group) {
  job::JobRequest request = job_request("", "", keywords);
  request.data = "random";
  request.target_scale = "none";  // the caller's targets are what is learnt
  request.samples = std::max<int64_t>(request.batch, 1);
  request.input = fmt::format("{}x{}x{}", input[0], input[1], input[2]);
  const api::Surroundings around = surroundings([] { return false; });
  if (group != nullptr && request.threads == 0) {
    request.threads = std::max(1, around.cpu.cores / group->here());
  }
  job::Job job = job::resolve(request, around.cpu, around.cache_home, {.network = network});
  api::settle(request, around, job);
  return job;
}

std::vector<size_t> sizes(const Shape& shape) { return {shape.begin(), shape.end()}; }

template <typename T>
void convert(const std::byte* from, int64_t step, T* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i, from += step) {
    float value = 0;
    std::memcpy(&value, from, sizeof value);
    to[i] = T(value);
  }
}

/// Any strides to [batch, height, width, channels].
template <typename T>
void gather(const AnyArray& images, T* to) {
  const auto* from = static_cast<const std::byte*>(images.data());
  constexpr int64_t kValue = sizeof(float);
  const auto extent = [&](size_t axis) { return static_cast<int64_t>(images.shape(axis)); };
  const int64_t channels = extent(1);
  const int64_t rows = extent(0) * extent(2);
  parallel_for(rows, 1, 64, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const std::byte* line = from + row / extent(2) * images.stride(0) * kValue +
                              row % extent(2) * images.stride(2) * kValue;
      T* out = to + row * extent(3) * channels;
      for (int64_t x = 0; x < extent(3); ++x, out += channels) {
        convert(line + x * images.stride(3) * kValue, images.stride(1) * kValue, out, channels);
      }
    }
  });
}

/// Whether it lies as the program reads it, so that it need not be copied.
bool lies_ready(const AnyArray& images) {
  constexpr uintptr_t kLine = 64;
  if (reinterpret_cast<uintptr_t>(images.data()) % kLine != 0) return false;
  int64_t expected = 1;
  for (const size_t axis : {1, 3, 2, 0}) {
    if (images.shape(axis) != 1 && images.stride(axis) != expected) return false;
    expected *= static_cast<int64_t>(images.shape(axis));
  }
  return true;
}

}  // namespace

PyStep::PyStep(const nn::Network& network, const std::vector<int64_t>& input,
               const Keywords& keywords, PyGroup* group)
    : group_(group) {
  const auto make = [&] { prepare(network, resolved(network, input, keywords, group)); };
  if (group == nullptr) {
    const nb::gil_scoped_release released;
    make();
    return;
  }
  group->wait([&] {
    make();
    start_alike();
  });
}

void PyStep::prepare(const nn::Network& network, const job::Job& job) {
  options_ = job.model_options(job.batch);
  threads_ = job.threads;
  seed_ = job.seed;
  const ThreadScope threads(threads_);
  network_ = std::make_unique<train::CompiledNetwork>(network, options_,
                                                      train::CompiledNetwork::Use::training);
  train::require_memory(network_->bytes(),
                        fmt::format("{} with a batch of {}", network.name(), job.batch));
  network_->initialize(seed_);
  const graph::Parameters& parameters = network_->parameters();
  optimizer_ = std::make_unique<optim::Optimizer>(job.optimizer, parameters.weights().size());
  segments_ = optim::merged(train::tensors_of(parameters));
  hyper_ = {.learning_rate = job.schedule.rate, .weight_decay = job.weight_decay};
}

void PyStep::start_alike() {
  const graph::Parameters& parameters = network_->parameters();
  std::string layout;
  for (const graph::ParameterSlot& slot : parameters.slots()) {
    layout +=
        fmt::format("{} {} {} {} ", slot.name, slot.offset, slot.elements, slot.layout.name());
  }
  const auto sum = static_cast<int64_t>(crc32c(0, layout.data(), layout.size()));
  std::array<int64_t, 2> bounds = {sum, -sum};
  group_->all_reduce(collective::Values(bounds.data(), bounds.size(), world::Element::i64),
                     world::Reduction::max);
  if (bounds[0] != -bounds[1]) {
    fail_request(
        "compile: expected the same network with the same batch on CPUs of the same kind for all "
        "{} "
        "workers, found weights that lie otherwise: are batch=, precision= and the network alike?",
        group_->size());
  }
  divide_gradients();
  const auto send = [&](auto values) { group_->broadcast(values.data(), values.size_bytes(), 0); };
  send(parameters.weights());
  send(parameters.working());
  send(parameters.state());
  seed_ += static_cast<uint64_t>(group_->rank());  // of dropout: each leaves out something else
}

void PyStep::divide_gradients() {
  constexpr size_t kBucket = size_t{1} << 20;  // elements
  const graph::Parameters& parameters = network_->parameters();
  std::vector<int> bucket_of;
  size_t begin = 0;
  size_t end = 0;
  const auto close = [&] {
    if (end > begin) buckets_.push_back(parameters.gradients().subspan(begin, end - begin));
    begin = end;
  };
  for (const graph::ParameterSlot& slot : parameters.slots()) {
    if (slot.frozen()) break;  // with all behind it
    bucket_of.push_back(static_cast<int>(buckets_.size()));
    end = slot.offset + slot.elements;
    if (end - begin >= kBucket) close();
  }
  close();
  parts_ = graph::parts_of_pass(network_->training().program(), bucket_of);
}

void PyStep::run_together() {
  graph::Program& program = network_->training().program();
  api::WorkerGroup& workers = group_->workers();
  try {
    graph::PhaseTimes ignored;
    for (const graph::PassPart& part : parts_) {
      program.run_items(part.first, part.last, {.seed = seed_, .step = hyper_.step}, ignored);
      for (const int bucket : part.finishes) {
        const std::span<float> gradients = buckets_[static_cast<size_t>(bucket)];
        workers.start_all_reduce({gradients.data(), gradients.size()});
      }
    }
    workers.finish();
  } catch (...) {
    workers.abandon();  // what is on its way must not outlive the gradients
    throw;
  }
  const std::span<float> gradients = network_->parameters().gradients();
  const float share = 1.0F / static_cast<float>(group_->size());
  constexpr int64_t kWorthIt = 1 << 14;
  parallel_for(static_cast<int64_t>(gradients.size()), 16, kWorthIt,
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) gradients[static_cast<size_t>(i)] *= share;
               });
}

std::vector<int64_t> PyStep::input() const {
  return {options_.batch, options_.channels, options_.height, options_.width};
}

void PyStep::take(const AnyArray& images) {
  train::NetworkProgram& program = network_->training();
  if (options_.dtype == DType::f32 && lies_ready(images)) {
    // Programs do not write to what they are given.
    program.program().move_input("images", const_cast<void*>(images.data()));
  } else if (options_.dtype == DType::f32) {
    gather(images, static_cast<float*>(program.use_own_images()));
  } else {
    gather(images, static_cast<BFloat16*>(program.use_own_images()));
  }
}

float PyStep::run(const AnyArray& images, const AnyArray& targets, bool update_too) {
  if (group_ == nullptr) {
    const nb::gil_scoped_release released;
    return compute(images, targets, update_too);
  }
  float loss = 0;
  group_->wait([&] { loss = compute(images, targets, update_too); });
  return loss;
}

float PyStep::compute(const AnyArray& images, const AnyArray& targets, bool update_too) {
  const ThreadScope threads(threads_);
  graph::Program& program = network_->training().program();
  take(images);
  std::memcpy(program.input(has_classes() ? "labels" : "targets").data, targets.data(),
              targets.nbytes());
  if (group_ != nullptr) {
    run_together();
  } else {
    program.run({.seed = seed_, .step = hyper_.step});
  }
  const float loss = network_->training().loss();
  network_->training().use_own_images();  // the caller's may be gone before the next step
  if (update_too) update();
  return loss;
}

void PyStep::update() {
  const graph::Parameters& parameters = network_->parameters();
  optimizer_->update(parameters.weights(), parameters.gradients(), parameters.working(), segments_,
                     hyper_);
  ++hyper_.step;
}

std::vector<std::string> PyStep::names() const {
  std::vector<std::string> names;
  for (const auto& slot : network_->parameters().slots()) names.push_back(slot.name);
  return names;
}

std::vector<std::string> PyStep::state_names() const {
  std::vector<std::string> names;
  for (const auto& state : network_->parameters().states()) names.push_back(state.name);
  return names;
}

nb::ndarray<nb::numpy, float> PyStep::get(const std::string& name, const std::string& what) {
  const graph::Parameters& parameters = network_->parameters();
  const Tensor tensor = what == "gradient" ? parameters.get_gradient(name)
                        : what == "state"  ? parameters.get_state(name)
                                           : parameters.get(name);
  return to_array(tensor.to_vector(), sizes(tensor.shape()));
}

void PyStep::set(const std::string& name,
                 const nb::ndarray<const float, nb::c_contig, nb::device::cpu>& values) {
  Shape shape;
  if (values.ndim() > Shape::kMaxRank) fail_request("{}: expected at most 6 axes", name);
  for (size_t axis = 0; axis < values.ndim(); ++axis) {
    shape.append(static_cast<int64_t>(values.shape(axis)));
  }
  Tensor tensor({DType::f32, shape});
  std::memcpy(tensor.data(), values.data(), values.nbytes());
  if (network_->parameters().find_state(name) != nullptr) {
    network_->parameters().set_state(name, tensor);
  } else {
    network_->parameters().set(name, tensor);
  }
}

nb::ndarray<nb::numpy, float> PyStep::logits() const {
  const std::span<const float> values = network_->training().logits();
  return to_array({values.begin(), values.end()},
                  {static_cast<size_t>(options_.batch), static_cast<size_t>(options_.classes)});
}

}  // namespace syrtos::python

#include "syrtos/compare/ours.h"

#include <cmath>
#include <cstring>
#include <random>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/compare/description.h"
#include "syrtos/optim/optimizer.h"
#include "syrtos/tensor/tensor.h"
#include "syrtos/train/network/compiled_network.h"
#include "syrtos/train/network/replica.h"

namespace syrtos::compare {

namespace {

constexpr ops::Step kStep = {.seed = 1, .step = 0};  // the same masks of dropout each time

ops::RefTensor to_ref(const Tensor& tensor) {
  ops::RefTensor result(tensor.shape());
  const std::vector<float> values = tensor.to_vector();
  result.values.assign(values.begin(), values.end());
  return result;
}

Tensor to_tensor(const ops::RefTensor& values) {
  return Tensor::from(values.shape, {values.values.begin(), values.values.end()});
}

class CompiledSide : public OurSide {
 public:
  CompiledSide(const nn::Network& network, const nn::ModelOptions& options, int threads)
      : threads_(threads), options_(options) {
    const ThreadScope scope(threads_);
    network_ = std::make_unique<train::CompiledNetwork>(network, options,
                                                        train::CompiledNetwork::Use::training);
    segments_ = optim::merged(train::tensors_of(network_->parameters()));
  }

  void set_weights(const Arrays& weights) override {
    graph::Parameters& parameters = network_->parameters();
    for (const auto& [name, values] : weights) {
      if (parameters.find_state(name) != nullptr) {
        parameters.set_state(name, to_tensor(values));
      } else {
        parameters.set(name, to_tensor(values));
      }
    }
    optimizer_.reset();
  }

  Arrays weights() override {
    Arrays result;
    const graph::Parameters& parameters = network_->parameters();
    for (const auto& slot : parameters.slots()) {
      result[slot.name] = to_ref(parameters.get(slot.name));
    }
    for (const auto& state : parameters.states()) {
      result[state.name] = to_ref(parameters.get_state(state.name));
    }
    return result;
  }

  double gradients(const Batch& batch, Arrays& gradients) override {
    const double loss = run(batch);
    const graph::Parameters& parameters = network_->parameters();
    for (const auto& slot : parameters.slots()) {
      if (!slot.frozen()) gradients[slot.name] = to_ref(parameters.get_gradient(slot.name));
    }
    return loss;
  }

  double step(const Batch& batch, const Rule& rule) override {
    const ThreadScope scope(threads_);
    const graph::Parameters& parameters = network_->parameters();
    if (optimizer_ == nullptr) {
      const optim::OptimizerOptions options = {.method = optim::Method::momentum,
                                               .momentum = rule.momentum};
      optimizer_ = std::make_unique<optim::Optimizer>(options, parameters.weights().size());
      taken_ = 0;
    }
    const double loss = run(batch);
    optimizer_->update(
        parameters.weights(), parameters.gradients(), parameters.working(), segments_,
        {.learning_rate = rule.lr, .weight_decay = rule.weight_decay, .step = taken_++});
    return loss;
  }

 private:
  double run(const Batch& batch) {
    const ThreadScope scope(threads_);
    train::NetworkProgram& program = network_->training();
    auto* images = static_cast<float*>(program.use_own_images());
    const Shape& shape = batch.images.shape;
    const int64_t pixels = shape[2] * shape[3];
    for (int64_t n = 0; n < shape[0]; ++n) {
      for (int64_t p = 0; p < pixels; ++p) {
        for (int64_t c = 0; c < shape[1]; ++c) {
          *images++ = static_cast<float>(batch.images[(n * shape[1] + c) * pixels + p]);
        }
      }
    }
    std::memcpy(program.program().input("labels").data, batch.labels.data(),
                batch.labels.size() * sizeof(int32_t));
    program.program().run(kStep);
    return program.loss();
  }

  int threads_;
  nn::ModelOptions options_;
  std::unique_ptr<train::CompiledNetwork> network_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::vector<optim::Segment> segments_;
  int64_t taken_ = 0;
};

}  // namespace

Batch random_batch(const nn::Model& model, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  Batch batch;
  batch.images = ops::RefTensor(model.graph.type(model.images).shape);
  for (double& value : batch.images.values) value = normal(random);
  const int64_t classes = model.graph.type(model.logits).shape[1];
  for (int64_t n = 0; n < batch.images.shape[0]; ++n) {
    batch.labels.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(classes)));
  }
  for (const graph::Node& node : model.graph.nodes()) {
    if (node.op->name() != "dropout") continue;
    ops::RefTensor ones(model.graph.type(node.inputs[0]).shape);
    std::fill(ones.values.begin(), ones.values.end(), 1.0);
    std::vector<ops::RefTensor> mask = {ops::RefTensor(ones.shape)};
    node.op->reference(std::vector<ops::RefTensor>{ones}, mask, kStep);
    batch.masks[value_name(model.graph, node.outputs[0])] = std::move(mask[0]);
  }
  return batch;
}

std::unique_ptr<OurSide> compiled_side(const nn::Network& network, const nn::ModelOptions& options,
                                       int threads) {
  return std::make_unique<CompiledSide>(network, options, threads);
}

Arrays starting_weights(const nn::Network& network, const nn::ModelOptions& options,
                        uint64_t seed) {
  train::CompiledNetwork compiled(network, options, train::CompiledNetwork::Use::training);
  compiled.initialize(seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> around(-0.1F, 0.1F);
  std::uniform_real_distribution<float> positive(0.5F, 1.5F);
  Arrays result;
  const graph::Parameters& parameters = compiled.parameters();
  for (const auto& slot : parameters.slots()) {
    ops::RefTensor values = to_ref(parameters.get(slot.name));
    if (values.shape.rank() == 1) {
      for (double& value : values.values) {
        value = static_cast<double>(static_cast<float>(value) + around(random));
      }
    }
    result[slot.name] = std::move(values);
  }
  for (const auto& state : parameters.states()) {
    ops::RefTensor values(state.type.shape);
    const bool variance = state.name.ends_with("var");
    for (double& value : values.values) {
      value = static_cast<double>(variance ? positive(random) : around(random));
    }
    result[state.name] = std::move(values);
  }
  return result;
}

}  // namespace syrtos::compare

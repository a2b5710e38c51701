#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "syrtos/compare/arrays.h"
#include "syrtos/nn/network.h"

namespace syrtos::compare {

/// How both sides train: m = momentum m + g + decay w; w -= lr m.
struct Rule {
  double lr = 0.01;
  double momentum = 0.9;
  double weight_decay = 5e-4;
};

/// What both sides compute on. `masks` has for each dropout layer, by its output's name, what its
/// input is multiplied with: so that both drop the same.
struct Batch {
  ops::RefTensor images;
  std::vector<int32_t> labels;
  Arrays masks;
};

/// A batch of normal numbers for a model; the same for the same seed.
Batch random_batch(const nn::Model& model, uint64_t seed);

/// What a network looks like from outside: as a peer's adapter, but without a process.
class OurSide {
 public:
  virtual ~OurSide() = default;
  /// Parameters and states. Also forgets what the optimiser keeps.
  virtual void set_weights(const Arrays& weights) = 0;
  virtual Arrays weights() = 0;
  /// The loss and every trained parameter's gradient.
  virtual double gradients(const Batch& batch, Arrays& gradients) = 0;
  /// The loss before the step.
  virtual double step(const Batch& batch, const Rule& rule) = 0;
};

/// What trains: compiled kernels in f32.
std::unique_ptr<OurSide> compiled_side(const nn::Network& network, const nn::ModelOptions& options,
                                       int threads);

/// The naive references in double precision, which kernels are tested against. Slow.
class ReferenceSide : public OurSide {
 public:
  explicit ReferenceSide(nn::Model model);

  void set_weights(const Arrays& weights) override;
  Arrays weights() override { return weights_; }
  double gradients(const Batch& batch, Arrays& gradients) override;
  double step(const Batch& batch, const Rule& rule) override;

  /// Every value of the forward pass by its name in the description, parameters and inputs
  /// included.
  Arrays outputs(const Batch& batch);
  const nn::Model& model() const { return model_; }

 private:
  std::map<graph::ValueId, ops::RefTensor> evaluate(const Batch& batch, bool backward);
  void move_statistics(const std::map<graph::ValueId, ops::RefTensor>& values);

  nn::Model model_;  // forward
  graph::Graph with_gradients_;
  Arrays weights_;
  Arrays kept_;  // momentum
};

/// Starting values as training draws them, and then, so that nothing is at its neutral value where
/// a mistake would not show: biases, scales and running statistics moved at random. Rounded to f32.
Arrays starting_weights(const nn::Network& network, const nn::ModelOptions& options, uint64_t seed);

}  // namespace syrtos::compare

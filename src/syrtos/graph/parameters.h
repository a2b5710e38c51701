#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/ops/backend.h"
#include "syrtos/tensor/buffer.h"
#include "syrtos/tensor/tensor.h"

namespace syrtos::graph {

/// Where one parameter lies: the same place in the arenas of weights, gradients and working copies.
struct ParameterSlot {
  std::string name;
  TensorType type;      ///< as the graph uses it: f32, or bf16 for the weights of bf16 kernels
  ops::Layout layout;   ///< the one its forward kernel wants
  size_t offset = 0;    ///< in elements, from the start of each arena
  size_t elements = 0;  ///< with padding, which is zero
  float decay = 0;      ///< times the weight decay
  float rate = 1;       ///< times the learning rate; 0 when frozen

  bool frozen() const { return rate == 0; }
};

struct StateSlot {
  std::string name;
  TensorType type;
  size_t offset = 0;  ///< in elements; states are f32 and plain
  size_t elements = 0;
};

/// All parameters of a model in one contiguous buffer, all gradients in another, in the order in
/// which the backward pass finishes them: a bucket of gradients for the network, the optimiser's
/// sweep and a checkpoint are slices. f32 weights are the truth; where kernels compute in bf16, the
/// optimiser keeps a rounded copy beside them. Frozen ones lie behind all others.
/// The programs of one model (training, evaluation, other batch sizes) share one of these; the
/// first to be compiled decides order and layouts.
class Parameters {
 public:
  Parameters() = default;

  /// From now on weights and working copies are those of `other`, which must turn out to have the
  /// same layout; gradients and running statistics stay its own. Before the first compilation.
  void share_weights(const Parameters& other);
  bool laid_out() const { return laid_out_; }
  /// Called by the first compilation. `with_gradients`: memory for gradients is needed.
  void lay_out(std::vector<ParameterSlot> slots, std::vector<StateSlot> states,
               bool with_gradients);

  const std::vector<ParameterSlot>& slots() const { return slots_; }
  const std::vector<StateSlot>& states() const { return states_; }
  const ParameterSlot* find(std::string_view name) const;
  const StateSlot* find_state(std::string_view name) const;

  std::span<float> weights() const { return {weights_->as<float>(), elements_}; }
  std::span<float> gradients() const { return {gradients_.as<float>(), gradients_.size() / 4}; }
  /// Rounded copies, as long as weights(); empty when every parameter is f32.
  std::span<BFloat16> working() const { return {working_->as<BFloat16>(), working_->size() / 2}; }
  std::span<float> state() const { return {state_.as<float>(), state_.size() / 4}; }

  /// Plain row-major copies, for files, users and tests. Setting a weight also rounds its copy.
  Tensor get(std::string_view name) const;
  void set(std::string_view name, const Tensor& plain);
  Tensor get_gradient(std::string_view name) const;
  Tensor get_state(std::string_view name) const;
  void set_state(std::string_view name, const Tensor& plain);

  /// Number of trained values, without padding.
  int64_t count() const;

 private:
  const ParameterSlot& slot(std::string_view name) const;
  const StateSlot& state_slot(std::string_view name) const;

  bool laid_out_ = false;
  std::vector<ParameterSlot> slots_;
  std::vector<StateSlot> states_;
  size_t elements_ = 0;
  std::shared_ptr<Buffer> weights_ = std::make_shared<Buffer>();
  std::shared_ptr<Buffer> working_ = std::make_shared<Buffer>();
  bool owns_weights_ = true;
  Buffer gradients_;
  Buffer state_;
};

}  // namespace syrtos::graph

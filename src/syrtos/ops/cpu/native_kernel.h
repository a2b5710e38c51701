#pragma once

#include <utility>

#include "syrtos/ops/cpu/makers.h"

namespace syrtos::ops::cpu {

/// A call of one of our own functions on fixed addresses.
struct Operands {
  std::vector<void*> inputs;
  std::vector<void*> outputs;
  void* scratch = nullptr;

  template <typename T = void>
  const T* in(size_t i) const {
    return static_cast<const T*>(inputs[i]);
  }
  template <typename T = void>
  T* out(size_t i) const {
    return static_cast<T*>(outputs[i]);
  }
};

template <typename Function>
class FunctionKernel : public Kernel {
 public:
  explicit FunctionKernel(Function function, const char* name = "native")
      : function_(std::move(function)), name_(name) {}

  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    operands_.inputs.assign(inputs.begin(), inputs.end());
    operands_.outputs.assign(outputs.begin(), outputs.end());
    operands_.scratch = scratch;
  }
  void move_input(size_t input, void* address) override { operands_.inputs[input] = address; }
  void run(const Step& step) override { function_(operands_, step); }
  std::string implementation() const override { return name_; }

 private:
  Function function_;
  const char* name_;
  Operands operands_;
};

/// A plan whose activations lie as usual (channels-last from rank 3 on) and whose kernel calls
/// function(const Operands&, const Step&).
template <typename Function>
KernelPlan native_plan(const KernelRequest& request, Function function) {
  KernelPlan plan;
  for (const TensorType& type : request.inputs) {
    plan.input_layouts.push_back(activation_layout(type.shape));
  }
  for (const TensorType& type : request.outputs) {
    plan.output_layouts.push_back(activation_layout(type.shape));
  }
  plan.kernel = std::make_unique<FunctionKernel<Function>>(std::move(function));
  return plan;
}

/// The same where everything lies row-major.
template <typename Function>
KernelPlan plain_plan(const KernelRequest& request, Function function) {
  KernelPlan plan = native_plan(request, std::move(function));
  plan.input_layouts.assign(request.inputs.size(), Layout::plain());
  plan.output_layouts.assign(request.outputs.size(), Layout::plain());
  return plan;
}

/// Where an input lies now if that is plain or channels-last, else where activations usually do:
/// kernels that move elements take either.
inline Layout followed(const KernelRequest& request, size_t input) {
  const Layout& layout = request.input_layouts[input];
  const bool dense =
      layout.kind == Layout::Kind::plain || layout.kind == Layout::Kind::channels_last;
  return dense ? layout : activation_layout(request.inputs[input].shape);
}

inline bool is_channels_last(const Layout& layout) {
  return layout.kind == Layout::Kind::channels_last;
}

/// The same for operations element by element: any layout will do as long as it is one and the
/// same. `wanted` is that of a final gradient, or any.
template <typename Function>
KernelPlan elementwise_plan(const KernelRequest& request, Function function) {
  KernelPlan plan = native_plan(request, std::move(function));
  Layout layout = request.input_layouts.empty() ? Layout::any() : request.input_layouts[0];
  for (const Layout& given : request.input_layouts) {
    if (given.kind == Layout::Kind::opaque) layout = given;
  }
  for (const Layout& wanted : request.output_layouts) {
    if (wanted.kind != Layout::Kind::any) layout = wanted;
  }
  if (layout.kind == Layout::Kind::any) layout = activation_layout(request.outputs[0].shape);
  for (size_t i = 0; i < plan.input_layouts.size(); ++i) {
    if (request.inputs[i].shape == request.outputs[0].shape) plan.input_layouts[i] = layout;
  }
  for (Layout& given : plan.output_layouts) given = layout;
  return plan;
}

/// Elements of a value in that layout, padding included.
inline int64_t elements_in(const TensorType& type, const Layout& layout) {
  return static_cast<int64_t>(layout.bytes(type) / size_of(type.dtype));
}

/// Rows of a channels-last value seen as a matrix [rows][channels].
inline int64_t rows_of(const Shape& shape) { return shape.elements() / shape[1]; }

/// The makers of each file; nullptr for operations of others.
Maker find_moving_maker(std::string_view operation);
Maker find_mapping_maker(std::string_view operation);
Maker find_reduction_maker(std::string_view operation);
Maker find_norm_maker(std::string_view operation);
Maker find_row_norm_maker(std::string_view operation);
Maker find_elementwise_maker(std::string_view operation);
Maker find_pointwise_maker(std::string_view operation);
Maker find_pool_maker(std::string_view operation);
Maker find_loss_maker(std::string_view operation);
Maker find_exchange_maker(std::string_view operation);

}  // namespace syrtos::ops::cpu

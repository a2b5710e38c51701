#include "syrtos/ops/cpu/engine.h"

#include <fmt/format.h>

#include <atomic>

#include "syrtos/base/cpu.h"
#include "syrtos/base/error.h"
#include "syrtos/ops/cpu/backend.h"

namespace syrtos::ops::cpu {

using dnnl::memory;

namespace {

std::atomic<int64_t> primitive_count{0};

/// oneDNN believes the flags of a CPU whose AMX tiles are hidden, and then cannot make its kernels.
/// It can be told only before its first engine.
void leave_hidden_amx_out() {
  static const bool told = [] {
    if (cpu_info().has_hidden_amx) dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx10_1_512);
    return true;
  }();
  (void)told;
}

}  // namespace

Engine::Engine()
    : engine((leave_hidden_amx_out(), dnnl::engine(dnnl::engine::kind::cpu, 0))), stream(engine) {}

void count_primitive() { ++primitive_count; }
int64_t primitives_created() { return primitive_count; }

std::string version() {
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("{}.{}.{}", v->major, v->minor, v->patch);
}

memory::data_type data_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return memory::data_type::f32;
    case DType::bf16:
      return memory::data_type::bf16;
    case DType::s32:
      return memory::data_type::s32;
    case DType::u8:
      return memory::data_type::u8;
  }
  return memory::data_type::undef;
}

memory::dims dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

memory::desc describe(const TensorType& type, const Layout& layout) {
  SYRTOS_CHECK(layout.kind != Layout::Kind::opaque);
  const Shape& shape = type.shape;
  memory::dims strides(static_cast<size_t>(shape.rank()));
  const bool channels_last = layout.kind == Layout::Kind::channels_last;
  int64_t stride = channels_last ? shape[1] : 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (channels_last && axis == 1) continue;
    strides[static_cast<size_t>(axis)] = stride;
    stride *= shape[axis];
  }
  if (channels_last) strides[1] = 1;
  return {dims_of(shape), data_type(type.dtype), strides};
}

void fail_primitive(const KernelRequest& request, const dnnl::error& error) {
  std::string shapes;
  for (const TensorType& type : request.inputs) shapes += " " + to_string(type);
  fail_run("[{}] oneDNN {} cannot compute {} on{}: {}", request.op.name(), version(),
           request.op.attributes(), shapes, error.what());
}

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

dnnl::primitive_attr attributes_with_relu() {
  dnnl::primitive_attr attr = attributes();
  dnnl::post_ops post;
  post.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
  attr.set_post_ops(post);
  return attr;
}

PrimitiveKernel::PrimitiveKernel(std::shared_ptr<Engine> engine, dnnl::primitive primitive,
                                 std::string implementation, std::vector<Argument> arguments)
    : engine_(std::move(engine)),
      primitive_(std::move(primitive)),
      implementation_(std::move(implementation)),
      arguments_(std::move(arguments)) {}

void PrimitiveKernel::bind(std::span<void* const> inputs, std::span<void* const> outputs,
                           void* scratch) {
  for (const Argument& argument : arguments_) {
    void* data = scratch;
    if (argument.source == Source::input) data = inputs[argument.index];
    if (argument.source == Source::output) data = outputs[argument.index];
    memories_.emplace_back(argument.desc, engine_->engine, data);
    bound_.push_back({argument.name, memories_.back().get()});
  }
}

void PrimitiveKernel::move_input(size_t input, void* address) {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (arguments_[i].source == Source::input && arguments_[i].index == input) {
      memories_[i].set_data_handle(address);
    }
  }
}

void PrimitiveKernel::run(const Step& /*step*/) {
  const dnnl_status_t status = dnnl_primitive_execute(
      primitive_.get(), engine_->stream.get(), static_cast<int>(bound_.size()), bound_.data());
  SYRTOS_CHECK(status == dnnl_success, "{}: status {}", implementation_, static_cast<int>(status));
}

}  // namespace syrtos::ops::cpu

#include <cstring>
#include <optional>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/ops/cpu/blocked_layout.h"
#include "syrtos/ops/cpu/makers.h"

namespace syrtos::ops::cpu {

namespace {

using dnnl::memory;
using Source = PrimitiveKernel::Source;

const BlockedLayout* blocked_form(const Layout& layout) {
  if (layout.kind != Layout::Kind::opaque) return nullptr;
  return &dynamic_cast<const BlockedLayout&>(*layout.opaque);
}

// A description for oneDNN; none where a blocked layout is used for another type than it was made
// for (the f32 gradient of weights that kernels read in bf16).
std::optional<memory::desc> describe_any(const TensorType& type, const Layout& layout,
                                         const memory::dims& dims) {
  if (const BlockedLayout* form = blocked_form(layout)) {
    if (form->desc().get_data_type() != data_type(type.dtype)) return std::nullopt;
    return form->desc();
  }
  if (layout.kind == Layout::Kind::plain) return describe_weights(dims, type.dtype, layout);
  return describe(type, layout);
}

// Copies f32 between two orders of the same elements, each a sum of one table entry per axis.
class TableReorder : public Kernel {
 public:
  using Tables = std::vector<std::vector<int64_t>>;

  /// `clear_bytes`: of a target with padding, which must be zero; else 0.
  TableReorder(const Tables& from, const Tables& to, size_t clear_bytes)
      : from_(from), to_(to), clear_bytes_(clear_bytes) {
    inner_from_ = {0};
    inner_to_ = {0};
    for (size_t axis = 1; axis < from.size(); ++axis) {
      inner_from_ = combine(inner_from_, from[axis]);
      inner_to_ = combine(inner_to_, to[axis]);
    }
  }
  void bind(std::span<void* const> inputs, std::span<void* const> outputs,
            void* /*scratch*/) override {
    source_ = static_cast<const float*>(inputs[0]);
    target_ = static_cast<float*>(outputs[0]);
  }
  void move_input(size_t /*input*/, void* address) override {
    source_ = static_cast<const float*>(address);
  }
  void run(const Step& /*step*/) override {
    if (clear_bytes_ > 0) std::memset(target_, 0, clear_bytes_);
    const auto outer = static_cast<int64_t>(from_[0].size());
    parallel_for(outer, 1, 2, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        const float* source = source_ + from_[0][i];
        float* target = target_ + to_[0][i];
        for (size_t j = 0; j < inner_from_.size(); ++j) {
          target[inner_to_[j]] = source[inner_from_[j]];
        }
      }
    });
  }

 private:
  static std::vector<int64_t> combine(const std::vector<int64_t>& outer,
                                      const std::vector<int64_t>& inner) {
    std::vector<int64_t> all;
    for (const int64_t a : outer) {
      for (const int64_t b : inner) all.push_back(a + b);
    }
    return all;
  }

  Tables from_;
  Tables to_;
  std::vector<int64_t> inner_from_;
  std::vector<int64_t> inner_to_;
  size_t clear_bytes_;
  const float* source_ = nullptr;
  float* target_ = nullptr;
};

}  // namespace

KernelPlan make_reorder(const std::shared_ptr<Engine>& engine, const TensorType& from_type,
                        const Layout& from, const TensorType& to_type, const Layout& to) {
  memory::dims dims = dims_of(from_type.shape);
  for (const Layout* layout : {&from, &to}) {
    if (const BlockedLayout* form = blocked_form(*layout)) dims = form->desc().get_dims();
  }
  KernelPlan plan;
  plan.input_layouts = {from};
  plan.output_layouts = {to};
  const std::optional<memory::desc> source = describe_any(from_type, from, dims);
  const std::optional<memory::desc> target = describe_any(to_type, to, dims);
  if (source && target) {
    const dnnl::reorder::primitive_desc desc(engine->engine, *source, engine->engine, *target,
                                             attributes());
    plan.scratch_bytes = desc.scratchpad_desc().get_size();
    plan.kernel = make_primitive_kernel<dnnl::reorder>(
        engine, desc,
        {{DNNL_ARG_SRC, *source, Source::input, 0}, {DNNL_ARG_DST, *target, Source::output, 0}});
    return plan;
  }
  SYRTOS_CHECK(from_type.dtype == DType::f32 && to_type.dtype == DType::f32);
  const auto tables = [&](const Layout& layout) {
    if (const BlockedLayout* form = blocked_form(layout)) return form->offsets();
    return BlockedLayout(describe_weights(dims, DType::f32, layout)).offsets();
  };
  const size_t bytes = to.bytes(to_type);
  const bool padded = bytes > static_cast<size_t>(to_type.bytes());
  plan.kernel = std::make_unique<TableReorder>(tables(from), tables(to), padded ? bytes : 0);
  return plan;
}

}  // namespace syrtos::ops::cpu

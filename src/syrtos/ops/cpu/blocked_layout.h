#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "syrtos/ops/backend.h"
#include "syrtos/ops/native/conv_wgrad.h"

namespace syrtos::ops::cpu {

/// The blocked form in which a primitive wants its weights. The order of the elements does not
/// depend on their type, so one layout serves the f32 weights, their bf16 copies and the gradient.
class BlockedLayout : public OpaqueLayout {
 public:
  explicit BlockedLayout(const dnnl::memory::desc& desc);

  std::string name() const override;
  size_t bytes(DType dtype) const override { return elements_ * size_of(dtype); }
  bool equals(const OpaqueLayout& other) const override;
  void pack(const float* plain, float* packed) const override;
  void unpack(const float* packed, float* plain) const override;

  /// As oneDNN gave it: in the type that the primitive computes in.
  const dnnl::memory::desc& desc() const { return desc_; }

  /// The offset of an element is the sum over the axes of one entry of each table.
  const std::vector<std::vector<int64_t>>& offsets() const { return offsets_; }

  /// The same for our weight-gradient kernel; false where it has no words for this layout.
  bool to_wgrad(native::WgradLayout& layout) const;

 private:
  dnnl::memory::desc desc_;
  std::vector<int64_t> dims_;
  std::vector<int64_t> strides_;
  std::vector<int64_t> blocks_;
  std::vector<int64_t> block_axes_;
  std::vector<std::vector<int64_t>> offsets_;
  size_t elements_ = 0;  // with padding
};

/// The layout as ours: opaque.
Layout blocked(const dnnl::memory::desc& desc);

/// Describes a weight tensor in the layout it lies in: blocked, or plain row-major under `dims`
/// (which may split the first axis into groups).
dnnl::memory::desc describe_weights(const dnnl::memory::dims& dims, DType dtype,
                                    const Layout& layout);

}  // namespace syrtos::ops::cpu

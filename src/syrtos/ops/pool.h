#pragma once

#include "syrtos/ops/conv.h"

namespace syrtos::ops {

enum class PoolKind { max, average };

/// Max or average over windows of the spatial axes, channel by channel. With `adaptive` the window
/// of output i of O along an axis of extent I is floor(i*I/O) .. ceil((i+1)*I/O) and only `output`
/// counts; output 1x1 is global pooling. Max pooling also gives, in s32, the position (row-major,
/// within the image plane of the input) of each maximum: the first one where several are equal.
class Pool : public Op {
 public:
  PoolKind kind = PoolKind::max;
  Window window;
  /// How far the last window reaches beyond the padding, where it only partly fits.
  std::array<int64_t, 2> overhang{0, 0};
  bool count_padding = false;  ///< average: padding counts in the divisor, the overhang does not
  bool adaptive = false;
  std::array<int64_t, 2> output{1, 1};  ///< adaptive only

  std::string_view name() const override;
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// The overhang with which a last window that only partly fits counts too (ceil mode); it begins
/// within the image or the padding before it.
std::array<int64_t, 2> overhang_of(const Window& window, const Shape& src);

/// Max: (diff_dst, position) -> diff_src; average: (diff_dst) -> diff_src.
class PoolBackward : public Op {
 public:
  PoolKind kind = PoolKind::max;
  Window window;
  std::array<int64_t, 2> overhang{0, 0};
  bool count_padding = false;
  bool adaptive = false;
  std::array<int64_t, 2> output{1, 1};
  Shape src_shape;

  std::string_view name() const override;
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

}  // namespace syrtos::ops

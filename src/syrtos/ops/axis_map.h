#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// A sparse matrix by rows: row i is the sum of weight[k] times element index[k], for k from
/// first[i] to first[i + 1] - 1. A row may be empty.
struct SparseRows {
  int64_t columns = 0;
  std::vector<int32_t> first{0};
  std::vector<int32_t> index;
  std::vector<float> weight;

  int64_t rows() const { return static_cast<int64_t>(first.size()) - 1; }
  void add(int64_t column, float factor);  ///< to the row that is being made
  void end_row() { first.push_back(static_cast<int32_t>(index.size())); }
  SparseRows transposed() const;
};

/// A linear map along one axis: dst[..., i, ...] = the sum over row i of weight * src[..., index,
/// ...]. Slices with any step, edges and reflections of padding, fixed gathering and resizing are
/// such maps, and so is the gradient of each: the transposed one.
class AxisMap : public Op {
 public:
  int axis = 0;
  std::shared_ptr<const SparseRows> map;
  AxisMap(int a, std::shared_ptr<const SparseRows> m);

  std::string_view name() const override { return "axis_map"; }
  /// Axis, extents and a hash of the map.
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;

 private:
  uint64_t hash_ = 0;
};

}  // namespace syrtos::ops

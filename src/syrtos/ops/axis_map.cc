#include "syrtos/ops/axis_map.h"

#include <fmt/format.h>

#include <bit>

#include "syrtos/base/error.h"

namespace syrtos::ops {

namespace {

/// FNV-1a over words.
uint64_t hash_of(const SparseRows& map) {
  uint64_t hash = 0xcbf29ce484222325U;
  const auto mix = [&](uint64_t word) { hash = (hash ^ word) * 0x100000001b3U; };
  for (const int32_t first : map.first) mix(static_cast<uint64_t>(first));
  for (const int32_t index : map.index) mix(static_cast<uint64_t>(index));
  for (const float weight : map.weight) mix(std::bit_cast<uint32_t>(weight));
  return hash;
}

}  // namespace

void SparseRows::add(int64_t column, float factor) {
  SYRTOS_CHECK(column >= 0 && column < columns, "column {} of {}", column, columns);
  index.push_back(static_cast<int32_t>(column));
  weight.push_back(factor);
}

SparseRows SparseRows::transposed() const {
  SparseRows result;
  result.columns = rows();
  std::vector<int32_t> count(static_cast<size_t>(columns) + 1);
  for (const int32_t i : index) ++count[static_cast<size_t>(i) + 1];
  for (size_t i = 1; i < count.size(); ++i) count[i] += count[i - 1];
  result.first = count;
  result.index.resize(index.size());
  result.weight.resize(index.size());
  for (int64_t row = 0; row < rows(); ++row) {
    for (int32_t k = first[static_cast<size_t>(row)]; k < first[static_cast<size_t>(row) + 1];
         ++k) {
      const auto from = static_cast<size_t>(k);
      const auto to = static_cast<size_t>(count[static_cast<size_t>(index[from])]++);
      result.index[to] = static_cast<int32_t>(row);
      result.weight[to] = weight[from];
    }
  }
  return result;
}

AxisMap::AxisMap(int a, std::shared_ptr<const SparseRows> m)
    : axis(a), map(std::move(m)), hash_(hash_of(*map)) {}

std::string AxisMap::attributes() const {
  return fmt::format("axis {} from {} to {} {:016x}", axis, map->columns, map->rows(), hash_);
}

std::vector<TensorType> AxisMap::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 1);
  TensorType dst = inputs[0];
  require_float(*this, dst, "src");
  if (axis < 0 || axis >= dst.shape.rank() || dst.shape[axis] != map->columns || map->rows() < 1) {
    fail_shape(*this, fmt::format("expected an extent of {} along axis {} and at least one row, "
                                  "found src {} and {} rows",
                                  map->columns, axis, to_string(dst), map->rows()));
  }
  dst.shape[axis] = map->rows();
  return {dst};
}

std::vector<ValueId> AxisMap::gradient(GraphBuilder& graph, std::span<const ValueId> /*inputs*/,
                                       std::span<const ValueId> /*outputs*/,
                                       std::span<const ValueId> output_gradients) const {
  const auto back = std::make_shared<const SparseRows>(map->transposed());
  return {graph.add_one(std::make_shared<AxisMap>(axis, back), {output_gradients[0]})};
}

}  // namespace syrtos::ops

#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// Matrices of which each of several workers has a part, brought from one way of dividing them to
/// another. Worker w has rows[w] of the samples, or columns[w] of the columns, of all of them;
/// parts follow each other in the order of the workers. Between the two halves of its kernel blocks
/// cross between the workers. A worker alone copies.
///
/// Losses are means over each worker's own samples. Gradients of what all workers share come out as
/// those of the mean over all samples, times the workers: as an all-reduce of shares that count by
/// their samples would give them.
class WorkerExchange : public Op {
 public:
  std::vector<int64_t> rows;
  std::vector<int64_t> columns;  ///< where these are divided too
  int worker = 0;

  std::string attributes() const override;
  /// No two of them are one: each has its place in the order of exchanges.
  bool has_side_effects() const override { return true; }
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;

  int workers() const { return static_cast<int>(rows.size()); }
  int64_t own_rows() const { return rows[static_cast<size_t>(worker)]; }
  int64_t own_columns() const { return columns[static_cast<size_t>(worker)]; }
  int64_t all_rows() const { return first_row(workers()); }
  int64_t all_columns() const { return first_column(workers()); }
  int64_t first_row(int of_worker) const;
  int64_t first_column(int of_worker) const;
  /// The samples of a worker over the mean number.
  double weight(int of_worker) const;

 protected:
  TensorType checked(std::span<const TensorType> inputs, int64_t rows_in, int64_t columns_in,
                     int64_t rows_out, int64_t columns_out) const;
};

/// Own rows [rows[w], K] -> all rows [sum, K].
class GatherRows : public WorkerExchange {
 public:
  std::string_view name() const override { return "gather_rows"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
};

/// The gradient of GatherRows: [sum, K], of which each worker has a summand -> the sum's own rows.
class ScatterRows : public WorkerExchange {
 public:
  std::string_view name() const override { return "gather_rows.backward"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
};

/// Own columns of all rows [sum, columns[w]] -> all columns of own rows [rows[w], sum].
class ColumnsToRows : public WorkerExchange {
 public:
  std::string_view name() const override { return "columns_to_rows"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
};

/// The gradient of ColumnsToRows: [rows[w], sum] -> [sum, columns[w]].
class RowsToColumns : public WorkerExchange {
 public:
  std::string_view name() const override { return "columns_to_rows.backward"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
};

}  // namespace syrtos::ops

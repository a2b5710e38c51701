#include "syrtos/ops/worker_exchange.h"

#include <fmt/ranges.h>

#include <numeric>

#include "syrtos/base/error.h"

namespace syrtos::ops {

namespace {

int64_t sum_before(const std::vector<int64_t>& values, int end) {
  return std::accumulate(values.begin(), values.begin() + end, int64_t{0});
}

/// The same parts and the same place among them.
template <typename To>
std::shared_ptr<To> opposite(const WorkerExchange& op) {
  auto made = std::make_shared<To>();
  made->rows = op.rows;
  made->columns = op.columns;
  made->worker = op.worker;
  return made;
}

}  // namespace

std::string WorkerExchange::attributes() const {
  const std::string of_columns =
      columns.empty() ? "" : fmt::format(" columns {}", fmt::join(columns, "+"));
  return fmt::format("worker {} rows {}{}", worker, fmt::join(rows, "+"), of_columns);
}

int64_t WorkerExchange::first_row(int of_worker) const { return sum_before(rows, of_worker); }
int64_t WorkerExchange::first_column(int of_worker) const { return sum_before(columns, of_worker); }

double WorkerExchange::weight(int of_worker) const {
  return static_cast<double>(rows[static_cast<size_t>(of_worker)] * workers()) /
         static_cast<double>(all_rows());
}

TensorType WorkerExchange::checked(std::span<const TensorType> inputs, int64_t rows_in,
                                   int64_t columns_in, int64_t rows_out,
                                   int64_t columns_out) const {
  require_inputs(*this, inputs, 1);
  require_float(*this, inputs[0], "src");
  require_type(*this, inputs[0], {inputs[0].dtype, {rows_in, columns_in}}, "src");
  return {inputs[0].dtype, {rows_out, columns_out}};
}

void WorkerExchange::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                               const Step& /*step*/) const {
  SYRTOS_CHECK(workers() == 1, "[{}] has no reference for {} workers", name(), workers());
  outputs[0].values = inputs[0].values;
}

std::vector<TensorType> GatherRows::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 1);
  require_rank(*this, inputs[0], 2, "src");
  const int64_t width = inputs[0].shape[1];
  return {checked(inputs, own_rows(), width, all_rows(), width)};
}

std::vector<ValueId> GatherRows::gradient(GraphBuilder& graph, std::span<const ValueId> /*inputs*/,
                                          std::span<const ValueId> /*outputs*/,
                                          std::span<const ValueId> output_gradients) const {
  return {graph.add_one(opposite<ScatterRows>(*this), {output_gradients[0]})};
}

std::vector<TensorType> ScatterRows::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 1);
  require_rank(*this, inputs[0], 2, "src");
  const int64_t width = inputs[0].shape[1];
  return {checked(inputs, all_rows(), width, own_rows(), width)};
}

std::vector<TensorType> ColumnsToRows::infer(std::span<const TensorType> inputs) const {
  return {checked(inputs, all_rows(), own_columns(), own_rows(), all_columns())};
}

std::vector<ValueId> ColumnsToRows::gradient(GraphBuilder& graph,
                                             std::span<const ValueId> /*inputs*/,
                                             std::span<const ValueId> /*outputs*/,
                                             std::span<const ValueId> output_gradients) const {
  return {graph.add_one(opposite<RowsToColumns>(*this), {output_gradients[0]})};
}

std::vector<TensorType> RowsToColumns::infer(std::span<const TensorType> inputs) const {
  return {checked(inputs, own_rows(), all_columns(), all_rows(), own_columns())};
}

}  // namespace syrtos::ops

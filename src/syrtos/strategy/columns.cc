#include "syrtos/strategy/columns.h"

#include <algorithm>

#include "syrtos/base/error.h"

namespace syrtos::strategy {

std::vector<size_t> column_shares(size_t outputs, int workers) {
  const auto n = static_cast<size_t>(workers);
  SYRTOS_CHECK(outputs >= n, "{} outputs for {} workers", outputs, workers);
  constexpr size_t kAtOnce = 16;
  const size_t unit = outputs >= kAtOnce * n ? kAtOnce : 1;
  const size_t units = outputs / unit;
  std::vector<size_t> shares(n);
  for (size_t w = 0; w < n; ++w) shares[w] = unit * (units / n + (w < units % n ? 1 : 0));
  shares.back() += outputs % unit;
  return shares;
}

double bytes_by_columns(const DenseShape& layer, size_t samples_of_all, int workers) {
  const double n = workers;
  const auto samples = static_cast<double>(samples_of_all);
  const double elements =
      samples * (static_cast<double>(layer.inputs) + static_cast<double>(layer.outputs) / n);
  return 2 * (n - 1) / n * elements * static_cast<double>(layer.element_bytes);
}

double bytes_by_all_reduce(const DenseShape& layer, int workers) {
  const double n = workers;
  return 2 * (n - 1) / n * static_cast<double>((layer.inputs + 1) * layer.outputs * sizeof(float));
}

bool worth_columns(const DenseShape& layer, size_t samples_of_all, int workers) {
  constexpr double kMuchLess = 0.5;
  return workers > 1 && layer.outputs >= static_cast<size_t>(workers) &&
         bytes_by_columns(layer, samples_of_all, workers) <=
             kMuchLess * bytes_by_all_reduce(layer, workers);
}

ColumnRounds column_rounds(const DenseShape& layer, const std::vector<size_t>& samples,
                           int worker) {
  const auto workers = static_cast<int>(samples.size());
  const std::vector<size_t> columns = column_shares(layer.outputs, workers);
  const auto inputs = [&](int of_worker) {
    return samples[static_cast<size_t>(of_worker)] * layer.inputs * layer.element_bytes;
  };
  const auto outputs = [&](int of_samples, int of_columns) {
    return samples[static_cast<size_t>(of_samples)] * columns[static_cast<size_t>(of_columns)] *
           layer.element_bytes;
  };
  ColumnRounds rounds;
  for (int q = 0; q < workers; ++q) {
    if (q == worker) continue;
    rounds.gather_inputs.send(q, {0, inputs(worker)});
    rounds.gather_inputs.receive(q, {0, inputs(q)});
    rounds.bring_outputs.send(q, {0, outputs(q, worker)});
    rounds.bring_outputs.receive(q, {0, outputs(worker, q)});
    rounds.bring_gradients.send(q, {0, outputs(worker, q)});
    rounds.bring_gradients.receive(q, {0, outputs(q, worker)});
    rounds.scatter_gradients.send(q, {0, inputs(q)});
    rounds.scatter_gradients.receive(q, {0, inputs(worker)});
  }
  return rounds;
}

}  // namespace syrtos::strategy

#pragma once

#include <cstddef>
#include <vector>

#include "syrtos/collective/rounds.h"

namespace syrtos::strategy {

// Dense layers divided by outputs (--split columns): each worker keeps, computes and updates some
// columns of the layer for the samples of all workers. What crosses are activations:
//
//   forward    own samples' inputs to all others; from each other its outputs of own samples
//   backward   the gradients of both, the other way around, those of the inputs to be added up
//
// and no gradient of the layer's weights. Each worker sends, of a layer with I inputs and O outputs
// and B samples of all N workers, 2 (N - 1)/N B (I + O/N) elements in 4 (N - 1) messages.

/// A dense layer of which each worker could have some columns.
struct DenseShape {
  size_t inputs = 0;
  size_t outputs = 0;
  size_t element_bytes = 4;  ///< of activations
};

/// Outputs of each worker: at least one, in multiples of what kernels take at once where there are
/// enough of them.
std::vector<size_t> column_shares(size_t outputs, int workers);

/// Bytes that one worker sends in a step if the layer is divided, and if its gradients are
/// all-reduced.
double bytes_by_columns(const DenseShape& layer, size_t samples_of_all, int workers);
double bytes_by_all_reduce(const DenseShape& layer, int workers);
/// Activations are waited for and gradients cross beside computing, so it must be much less.
bool worth_columns(const DenseShape& layer, size_t samples_of_all, int workers);

/// What a worker sends to each of the others and gets from them, in bytes, in the order of the
/// pass: two exchanges forward and two backward. Sizes alone.
struct ColumnRounds {
  collective::Round gather_inputs;
  collective::Round bring_outputs;
  collective::Round bring_gradients;
  collective::Round scatter_gradients;
};
/// `samples`: of each worker.
ColumnRounds column_rounds(const DenseShape& layer, const std::vector<size_t>& samples, int worker);

}  // namespace syrtos::strategy

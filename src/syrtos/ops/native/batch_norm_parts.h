#pragma once

// How batch norm splits its work over threads, and the scratch memory in which these sum up.

#include <cstdint>

#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/batch_norm.h"
#include "syrtos/ops/native/batch_norm_kernels.h"

// Splitting. With few rows and many channels a thread takes channels and does both passes without
// meeting the others. Otherwise it takes rows, so that it reads memory in order: sums per thread,
// combined in the order of threads, then the second pass over the same rows, which are still in its
// cache if they fit.

namespace syrtos::ops::native {

inline constexpr int64_t kChannelGrain = 64;  // a multiple of every tile and of the padding

/// The table for this CPU.
const BatchNormKernels& batch_norm_table();

enum class BatchNormSplit { none, channels, rows };
BatchNormSplit batch_norm_split(const BatchNormShape& shape);

/// Four arrays of floats over channels, then for each thread its sums.
struct BatchNormScratch {
  static constexpr int64_t kFloats = 4;
  static constexpr int64_t kThreadDoubles = 3;  // two sums and two of half the size

  float* floats[kFloats];
  double* sums;
  int64_t channels;  ///< padded

  /// Checks the shape and the memory.
  BatchNormScratch(const BatchNormShape& shape, void* memory);

  BatchNormSums of_thread(int thread) const {
    double* first = sums + thread * kThreadDoubles * channels;
    float* block = reinterpret_cast<float*>(first + 2 * channels);
    return {first, first + channels, block, block + channels};
  }
  BatchNormFinish finish(int64_t rows, int64_t begin, int64_t end, int partials) const {
    return {rows, begin, end, partials, kThreadDoubles * channels, of_thread(0)};
  }
};

/// Calls body(part, thread whose sums it may use) for every part; returns how many threads' sums
/// are to be combined.
template <typename Body>
int for_each_part(const BatchNormShape& shape, BatchNormSplit split, Body&& body) {
  const int64_t rows = shape.rows;
  const int64_t channels = shape.channels;
  int partials = 1;
  if (split == BatchNormSplit::none) {
    body(BatchNormPart{channels, 0, rows, 0, channels}, 0);
  } else if (split == BatchNormSplit::channels) {
    parallel([&](int thread, int threads) {
      const Range range = share_of(channels, thread, threads, kChannelGrain);
      if (range.begin != range.end) {
        body(BatchNormPart{channels, 0, rows, range.begin, range.end}, 0);
      }
    });
  } else {
    parallel([&](int thread, int threads) {
      if (thread == 0) partials = threads;
      const Range range = share_of(rows, thread, threads);
      body(BatchNormPart{channels, range.begin, range.end, 0, channels}, thread);
    });
  }
  return partials;
}

/// Sums of src and its square relative to `shift`, which it chooses near the mean, over the
/// threads' parts. Before, if rows are split, sample_all_rows() must have chosen it.
struct BatchNormFirstPass {
  const BatchNormShape& shape;
  BatchNormSplit split;
  const void* src;
  float* shift;
  const BatchNormScratch& scratch;

  void sample_all_rows() const;
  void operator()(const BatchNormPart& part, int thread) const;
};

/// What the two passes of the backward direction read and write. The first leaves the masked
/// gradient in diff_residual, and the second reads that.
struct BatchNormGradients {
  const void* mask;        ///< of the first pass; null: none
  void* masked;            ///< null: not wanted, or there already
  const void* gradient;    ///< of the second pass
  const void* mask_again;  ///< of the second pass
  explicit BatchNormGradients(const BatchNormBackward& args);
};

}  // namespace syrtos::ops::native

#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "syrtos/tensor/dtype.h"
#include "syrtos/tensor/shape.h"

// Sums and maxima over some axes of a dense tensor. Calls block until done, use the threads of
// syrtos/base/parallel.h and allocate nothing. Results are the same in each run with the same
// number of threads.

namespace syrtos::ops::native {

/// The axes of a tensor in the order of its memory, neighbours of one kind joined: each is either
/// kept or reduced, in turns.
struct ReduceLoop {
  int rank = 0;
  std::array<int64_t, Shape::kMaxRank> extent{};
  std::array<bool, Shape::kMaxRank> kept{};
};

struct ReduceAxis {
  int64_t extent;
  bool kept;
};

ReduceLoop reduce_loop(std::span<const ReduceAxis> axes);

/// dst[kept] = scale * the sum (or the maximum) of src[kept, reduced]; the kept axes lie in dst as
/// they do in src. src is f32 or bf16, dst the same or f32; arithmetic is f32 and double. Scratch
/// is aligned to 64 bytes.
struct ReduceAxes {
  ReduceLoop loop;
  DType src_dtype = DType::f32;
  DType dst_dtype = DType::f32;
  bool max = false;
  float scale = 1;
};
size_t reduce_axes_scratch_bytes(const ReduceAxes& problem);
void reduce_axes(const ReduceAxes& problem, const void* src, void* dst, void* scratch);

}  // namespace syrtos::ops::native

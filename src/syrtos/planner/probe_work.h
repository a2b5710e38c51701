#pragma once

#include <cstdint>

namespace syrtos::planner {

/// A fixed piece of computing on all threads of the pool: fused multiply-adds on what lies in the
/// caches, in the widest vectors of this CPU, as in the kernels that training spends its time in.
/// `repeats` are divided between the threads.
void compute_piece(int64_t repeats);

/// Filled once for each instruction set.
struct ProbeKernels {
  /// One thread's part; what it returns only keeps the compiler from leaving it out.
  float (*multiply_add)(int64_t repeats);
};

}  // namespace syrtos::planner

#include <cstddef>

#include "syrtos/planner/probe_work.h"

// Plain loops that the compiler turns into vectors.

namespace syrtos::planner::SYRTOS_ISA {
namespace {

constexpr size_t kValues = 2048;  // 8 kB: they stay in the nearest cache

float multiply_add(int64_t repeats) {
  alignas(64) float values[kValues];
  for (size_t i = 0; i < kValues; ++i) values[i] = static_cast<float>(i);
  for (int64_t repeat = 0; repeat < repeats; ++repeat) {
    for (size_t i = 0; i < kValues; ++i) {
      float value = values[i];
      for (int step = 0; step < 8; ++step) value = value * 0.9999F + 0.25F;
      values[i] = value;
    }
  }
  float sum = 0;
  for (const float value : values) sum += value;
  return sum;
}

}  // namespace

extern const ProbeKernels kProbeKernels;
const ProbeKernels kProbeKernels = {multiply_add};

}  // namespace syrtos::planner::SYRTOS_ISA

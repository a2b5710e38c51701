#pragma once

#include <cstddef>
#include <cstdint>

namespace syrtos::collective {

/// Filled once for each instruction set.
struct Bf16Kernels {
  void (*round_to)(const float* from, uint16_t* to, size_t count);
  void (*round_in_place)(float* values, size_t count);
};

}  // namespace syrtos::collective

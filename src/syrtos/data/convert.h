#pragma once

#include <cstdint>

namespace syrtos::data {

/// Bytes to the numbers that a network computes with: to[i] = from[i] * scale[i] + offset[i].
struct ConvertKernels {
  void (*to_f32)(const uint8_t* from, const float* scale, const float* offset, int64_t n,
                 float* to);
  void (*to_bf16)(const uint8_t* from, const float* scale, const float* offset, int64_t n,
                  uint16_t* to);
};

/// The kernels for this CPU.
const ConvertKernels& convert_kernels();

}  // namespace syrtos::data

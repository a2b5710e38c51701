#pragma once

#include <cstdint>

namespace syrtos::data {

/// Bytes to the numbers that a network computes with, row by row:
/// to[y][i] = from[y][i] * scale[i] + offset[i].
struct ConvertKernels {
  void (*to_f32)(const uint8_t* from, const float* scale, const float* offset, int64_t rows,
                 int64_t row, float* to);
  void (*to_bf16)(const uint8_t* from, const float* scale, const float* offset, int64_t rows,
                  int64_t row, uint16_t* to);
};

/// The kernels for this CPU.
const ConvertKernels& convert_kernels();

}  // namespace syrtos::data

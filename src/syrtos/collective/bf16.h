#pragma once

#include <cstddef>
#include <cstdint>

namespace syrtos::collective {

/// Rounds to the nearest bf16, ties to even; a NaN stays one.
void round_to_bf16(const float* from, uint16_t* to, size_t count);
/// The same in place: f32 that bf16 can hold.
void round_as_bf16(float* values, size_t count);

}  // namespace syrtos::collective

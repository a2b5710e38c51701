#pragma once

#include <cstdint>
#include <vector>

#include "syrtos/strategy/replica.h"
#include "syrtos/tensor/dtype.h"

namespace syrtos::strategy {

/// Rounded to nearest, as they go over the wire; nothing happens without data.
inline void pack_bf16(const Floats& values, std::vector<uint16_t>& packed) {
  if (values.data == nullptr) return;
  packed.resize(values.count);
  for (size_t i = 0; i < values.count; ++i) packed[i] = BFloat16(values.data[i]).bits;
}

}  // namespace syrtos::strategy

#pragma once

#include <string>
#include <string_view>

#include "syrtos/base/cpu.h"
#include "syrtos/nn/network.h"
#include "syrtos/tensor/dtype.h"

namespace syrtos::job {

/// What kernels compute in, and why, for people: "bf16 (AVX512-BF16)".
struct Precision {
  DType dtype = DType::f32;
  std::string reason;
};

/// auto: bf16 where the CPU computes it in hardware and faster than f32, else f32. Throws
/// RequestError for an unknown name and for bf16 on a CPU without it.
Precision choose_precision(std::string_view name, const CpuInfo& cpu);

/// The same for a network: auto is f32 where a sample costs so little that bf16 gains nothing.
Precision choose_precision(std::string_view name, const CpuInfo& cpu, const nn::Network& network,
                           nn::ModelOptions options);

}  // namespace syrtos::job

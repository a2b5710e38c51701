#pragma once

#include "syrtos/base/cpu.h"
#include "syrtos/base/error.h"
#include "syrtos/ops/native/kernel_table.h"
#include "syrtos/tensor/dtype.h"

/// The table for this CPU.
#if defined(__x86_64__)
#define SYRTOS_SELECT_KERNELS(name)                                                      \
  ::syrtos::ops::native::select_kernels(::syrtos::best_isa(), generic::name, avx2::name, \
                                        avx512::name, avx512_bf16::name)
#else
#define SYRTOS_SELECT_KERNELS(name) (generic::name)
#endif

namespace syrtos::ops::native {

template <typename Kernels>
const Kernels& select_kernels(Isa isa, const Kernels& generic, const Kernels& avx2,
                              const Kernels& avx512, const Kernels& avx512_bf16) {
  switch (isa) {
    case Isa::generic:
      return generic;
    case Isa::avx2:
      return avx2;
    case Isa::avx512:
      return avx512;
    case Isa::avx512_bf16:
      return avx512_bf16;
  }
  return generic;
}

/// Where the kernel for elements of this type stands in its array.
inline int index_of(DType dtype) {
  SYRTOS_CHECK(dtype == DType::f32 || dtype == DType::bf16, "dtype = {}", to_string(dtype));
  return dtype == DType::f32 ? 0 : 1;
}

}  // namespace syrtos::ops::native

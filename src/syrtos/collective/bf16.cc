#include "syrtos/collective/bf16.h"

#include "syrtos/base/cpu.h"
#include "syrtos/collective/bf16_kernels.h"

namespace syrtos::collective {

namespace generic {
extern const Bf16Kernels kBf16Kernels;
}
#if defined(__x86_64__)
namespace avx2 {
extern const Bf16Kernels kBf16Kernels;
}
namespace avx512 {
extern const Bf16Kernels kBf16Kernels;
}
namespace avx512_bf16 {
extern const Bf16Kernels kBf16Kernels;
}
#endif

namespace {

const Bf16Kernels& kernels() {
#if defined(__x86_64__)
  static const Isa isa = best_isa();
  switch (isa) {
    case Isa::generic:
      return generic::kBf16Kernels;
    case Isa::avx2:
      return avx2::kBf16Kernels;
    case Isa::avx512:
      return avx512::kBf16Kernels;
    case Isa::avx512_bf16:
      return avx512_bf16::kBf16Kernels;
  }
#endif
  return generic::kBf16Kernels;
}

}  // namespace

void round_to_bf16(const float* from, uint16_t* to, size_t count) {
  kernels().round_to(from, to, count);
}

void round_as_bf16(float* values, size_t count) { kernels().round_in_place(values, count); }

}  // namespace syrtos::collective

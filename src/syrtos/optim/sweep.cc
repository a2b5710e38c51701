#include "syrtos/optim/sweep.h"

#include "syrtos/base/cpu.h"

namespace syrtos::optim {

namespace generic {
extern const SweepKernels kKernels;
}
#if defined(__x86_64__)
namespace avx2 {
extern const SweepKernels kKernels;
}
namespace avx512 {
extern const SweepKernels kKernels;
}
namespace avx512_bf16 {
extern const SweepKernels kKernels;
}
#endif

const SweepKernels& sweep_kernels() {
#if defined(__x86_64__)
  static const Isa isa = best_isa();
  switch (isa) {
    case Isa::generic:
      return generic::kKernels;
    case Isa::avx2:
      return avx2::kKernels;
    case Isa::avx512:
      return avx512::kKernels;
    case Isa::avx512_bf16:
      return avx512_bf16::kKernels;
  }
#endif
  return generic::kKernels;
}

}  // namespace syrtos::optim

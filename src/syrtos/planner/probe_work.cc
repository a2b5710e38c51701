#include "syrtos/planner/probe_work.h"

#include <atomic>

#include "syrtos/base/cpu.h"
#include "syrtos/base/parallel.h"

namespace syrtos::planner {

namespace generic {
extern const ProbeKernels kProbeKernels;
}
#if defined(__x86_64__)
namespace avx2 {
extern const ProbeKernels kProbeKernels;
}
namespace avx512 {
extern const ProbeKernels kProbeKernels;
}
namespace avx512_bf16 {
extern const ProbeKernels kProbeKernels;
}
#endif

namespace {

const ProbeKernels& kernels() {
#if defined(__x86_64__)
  static const Isa isa = best_isa();
  switch (isa) {
    case Isa::generic:
      return generic::kProbeKernels;
    case Isa::avx2:
      return avx2::kProbeKernels;
    case Isa::avx512:
      return avx512::kProbeKernels;
    case Isa::avx512_bf16:
      return avx512_bf16::kProbeKernels;
  }
#endif
  return generic::kProbeKernels;
}

}  // namespace

void compute_piece(int64_t repeats) {
  std::atomic<float> kept = 0;
  parallel_for(repeats, 1, 2,
               [&](int64_t begin, int64_t end) { kept = kernels().multiply_add(end - begin); });
}

}  // namespace syrtos::planner

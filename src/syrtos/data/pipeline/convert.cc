#include "syrtos/data/pipeline/convert.h"

#include "syrtos/base/cpu.h"

namespace syrtos::data {

namespace generic {
extern const ConvertKernels kConvertKernels;
}
#if defined(__x86_64__)
namespace avx2 {
extern const ConvertKernels kConvertKernels;
}
namespace avx512 {
extern const ConvertKernels kConvertKernels;
}
namespace avx512_bf16 {
extern const ConvertKernels kConvertKernels;
}
#endif

const ConvertKernels& convert_kernels() {
#if defined(__x86_64__)
  static const Isa isa = best_isa();
  switch (isa) {
    case Isa::generic:
      return generic::kConvertKernels;
    case Isa::avx2:
      return avx2::kConvertKernels;
    case Isa::avx512:
      return avx512::kConvertKernels;
    case Isa::avx512_bf16:
      return avx512_bf16::kConvertKernels;
  }
#endif
  return generic::kConvertKernels;
}

}  // namespace syrtos::data

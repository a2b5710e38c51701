#include "syrtos/ops/native/amx/tiles.h"

#include "syrtos/base/amx.h"
#include "syrtos/base/cpu.h"

namespace syrtos::ops::native {

bool amx_usable() {
  static const bool usable = best_isa() == Isa::avx512_bf16 && grant_amx();
  return usable;
}

}  // namespace syrtos::ops::native

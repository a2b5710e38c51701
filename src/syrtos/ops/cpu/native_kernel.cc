#include "syrtos/ops/cpu/native_kernel.h"

namespace syrtos::ops::cpu {

Maker find_native_maker(std::string_view operation) {
  for (const auto find :
       {find_moving_maker, find_mapping_maker, find_reduction_maker, find_norm_maker,
        find_row_norm_maker, find_elementwise_maker, find_pool_maker, find_loss_maker,
        find_pointwise_maker, find_exchange_maker}) {
    if (const Maker maker = find(operation)) return maker;
  }
  return nullptr;
}

}  // namespace syrtos::ops::cpu

#pragma once

#include "syrtos/ops/backend.h"
#include "syrtos/ops/conv.h"

namespace syrtos::ops::cpu {

// Our convolutions on AMX (ops/native/amx), where they are the fastest for bf16. Each completes the
// plan, the layout of the weights included, or returns false and leaves it alone.
bool plan_amx_forward(const Conv& conv, const KernelRequest& request, KernelPlan& plan);
bool plan_amx_backward_data(const ConvBackwardData& conv, const KernelRequest& request,
                            KernelPlan& plan);
bool plan_amx_backward_weights(const ConvBackwardWeights& conv, const KernelRequest& request,
                               KernelPlan& plan);

}  // namespace syrtos::ops::cpu

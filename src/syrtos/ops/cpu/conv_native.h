#pragma once

#include "syrtos/ops/conv.h"
#include "syrtos/ops/cpu/makers.h"

namespace syrtos::ops::cpu {

/// Our own convolution kernels: Winograd's algorithm for 3x3 in f32, and the weight gradient. Each
/// fills in the plan's kernel and scratch and returns true, or returns false where oneDNN's kernel
/// is expected to be as fast, or the layout of the weights is one they have no words for.
bool plan_native_forward(const Conv& conv, const KernelRequest& request, const Layout& weights,
                         KernelPlan& plan);
bool plan_native_backward_data(const ConvBackwardData& conv, const KernelRequest& request,
                               const Layout& weights, KernelPlan& plan);
bool plan_native_backward_weights(const ConvBackwardWeights& conv, const KernelRequest& request,
                                  const Layout& diff_weights, KernelPlan& plan);

}  // namespace syrtos::ops::cpu

#pragma once

#include "syrtos/ops/cpu/engine.h"

namespace syrtos::ops::cpu {

/// Makes the plan of one operation; the request's op has the type that the maker expects.
using Maker = KernelPlan (*)(const std::shared_ptr<Engine>& engine, const KernelRequest& request);

KernelPlan make_conv(const std::shared_ptr<Engine>& engine, const KernelRequest& request);
KernelPlan make_conv_backward_data(const std::shared_ptr<Engine>& engine,
                                   const KernelRequest& request);
KernelPlan make_conv_backward_weights(const std::shared_ptr<Engine>& engine,
                                      const KernelRequest& request);
KernelPlan make_matmul(const std::shared_ptr<Engine>& engine, const KernelRequest& request);
KernelPlan make_lrn(const std::shared_ptr<Engine>& engine, const KernelRequest& request);
KernelPlan make_lrn_backward(const std::shared_ptr<Engine>& engine, const KernelRequest& request);

/// The maker among our own kernels; nullptr when there is none of that name.
Maker find_native_maker(std::string_view operation);

/// The same among those of recurrent layers.
Maker find_recurrence_maker(std::string_view operation);

KernelPlan make_reorder(const std::shared_ptr<Engine>& engine, const TensorType& from_type,
                        const Layout& from, const TensorType& to_type, const Layout& to);

}  // namespace syrtos::ops::cpu

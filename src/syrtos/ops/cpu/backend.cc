#include "syrtos/ops/cpu/backend.h"

#include <fmt/format.h>

#include "syrtos/base/error.h"
#include "syrtos/ops/cpu/makers.h"

namespace syrtos::ops::cpu {

namespace {

Maker find_maker(std::string_view operation) {
  if (operation == "conv") return make_conv;
  if (operation == "conv.backward_data") return make_conv_backward_data;
  if (operation == "conv.backward_weights") return make_conv_backward_weights;
  if (operation == "matmul") return make_matmul;
  if (operation == "lrn") return make_lrn;
  if (operation == "lrn.backward") return make_lrn_backward;
  if (const Maker maker = find_recurrence_maker(operation)) return maker;
  return find_native_maker(operation);
}

class OnednnBackend : public Backend {
 public:
  std::string name() const override { return fmt::format("oneDNN {}", version()); }

  KernelPlan plan(const KernelRequest& request) override {
    const Maker maker = find_maker(request.op.name());
    SYRTOS_CHECK(maker != nullptr, "no kernel for [{}]", request.op.name());
    KernelPlan plan = maker(engine_, request);
    SYRTOS_CHECK(plan.kernel != nullptr && plan.input_layouts.size() == request.inputs.size() &&
                     plan.output_layouts.size() == request.outputs.size(),
                 "[{}]", request.op.name());
    return plan;
  }

  KernelPlan reorder(const TensorType& from_type, const Layout& from, const TensorType& to_type,
                     const Layout& to) override {
    return make_reorder(engine_, from_type, from, to_type, to);
  }

 private:
  std::shared_ptr<Engine> engine_ = std::make_shared<Engine>();
};

}  // namespace

std::unique_ptr<Backend> make_backend() { return std::make_unique<OnednnBackend>(); }

}  // namespace syrtos::ops::cpu

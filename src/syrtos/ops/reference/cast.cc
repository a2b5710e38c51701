#include "syrtos/ops/cast.h"

namespace syrtos::ops {

// References compute in double whatever the type: nothing is rounded.
void Cast::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                     const Step& /*step*/) const {
  outputs[0].values = inputs[0].values;
}

}  // namespace syrtos::ops

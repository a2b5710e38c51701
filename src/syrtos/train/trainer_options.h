#pragma once

#include <memory>
#include <optional>

#include "syrtos/ops/backend.h"
#include "syrtos/train/measure/machine.h"

namespace syrtos::train {

/// What a trainer is given beside the job: nothing of it changes what is trained.
struct TrainerOptions {
  double planned_step_s = 0;                   ///< What a plan says of a step; 0: there was none.
  std::optional<Machine> machine = {};         ///< What this host can do at best, if it is known.
  std::shared_ptr<ops::Backend> backend = {};  ///< Makes the kernels; none: the CPU's.
};

}  // namespace syrtos::train

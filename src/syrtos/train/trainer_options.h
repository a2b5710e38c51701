#pragma once

#include <memory>
#include <optional>

#include "syrtos/ops/backend.h"
#include "syrtos/train/measure/machine.h"

namespace syrtos::train {

/// What happened before a trainer was made: the beginning of the account of a run's time.
struct Beginning {
  double asked = 0;     ///< When the command was given, in seconds since 1970.
  double data_s = 0;    ///< Seconds that opening and preparing the data took, before that moment:
  double resolved = 0;  ///< the job was known; seconds since 1970, 0: nobody looked.
};

/// What a trainer is given beside the job: nothing of it changes what is trained.
struct TrainerOptions {
  double planned_step_s = 0;  ///< What a plan says of a step; 0: there was none.
  Beginning beginning = {};
  int team = 1;       ///< Those before it have trained the run so far.
  int processes = 1;  ///< Ranks of this job on this machine, with this one: they share its memory.
  std::optional<Machine> machine = {};         ///< What this host can do at best, if it is known.
  std::shared_ptr<ops::Backend> backend = {};  ///< Makes the kernels; none: the CPU's.
};

}  // namespace syrtos::train

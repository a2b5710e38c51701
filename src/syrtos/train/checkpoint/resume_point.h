#pragma once

#include <filesystem>

#include "syrtos/job/request.h"
#include "syrtos/run/directory.h"
#include "syrtos/train/checkpoint/checkpoint.h"

namespace syrtos::train {

/// Where a run goes on, and as which job.
struct ResumePoint {
  job::JobRequest job;
  std::filesystem::path checkpoint = {};  ///< Empty: at the beginning of the run.
  run::Notes notes = {};                  ///< What was damaged, and what is used in its place.
};

/// A run goes on from its last checkpoint, or, if that is missing, damaged or of another job, from
/// the one before or the best one. The checkpoint knows the job; job.toml counts only where there
/// is no checkpoint yet, and then it must be as it was written. A run that has results but no
/// checkpoint is refused: it would begin again over them. Changes nothing. Throws RequestError.
ResumePoint find_resume_point(const run::Directory& directory, CheckpointPart part);

}  // namespace syrtos::train

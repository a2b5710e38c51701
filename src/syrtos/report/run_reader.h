#pragma once

#include <filesystem>

#include "syrtos/report/run.h"

namespace syrtos::report {

struct ReadOptions {
  bool trace = true;  ///< large: the live page does without
};

/// Everything that a run directory has. What is missing, cut off, damaged or of another version
/// becomes a note. Throws RequestError when the directory is no run at all, or one of a newer
/// format (run/about.h).
Run read_run(const std::filesystem::path& directory, const ReadOptions& options = {});

}  // namespace syrtos::report

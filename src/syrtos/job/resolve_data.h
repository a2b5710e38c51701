#pragma once

#include <filesystem>
#include <optional>

#include "syrtos/job/job.h"

namespace syrtos::job {

/// Everything about the data that the request leaves open. The rest of `job` is decided already.
void resolve_data(const JobRequest& request, const std::filesystem::path& cache_home,
                  std::optional<JobData> own, Job& job);

}  // namespace syrtos::job

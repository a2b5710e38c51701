#pragma once

#include <filesystem>
#include <optional>

#include "syrtos/job/job.h"

namespace syrtos::job {

/// Everything about the data that the request leaves open. The rest of `job` is decided already.
void resolve_data(const JobRequest& request, const std::filesystem::path& cache_home,
                  std::optional<JobData> own, Job& job);
/// The batch, when all else is known. Throws RequestError when workers cannot divide it, or
/// micro-batches.
void resolve_batches(const JobRequest& request, Job& job);

}  // namespace syrtos::job

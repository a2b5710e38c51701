#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "syrtos/job/request.h"

namespace syrtos::job {

/// The job file of a run: to_toml(), and a last line by which it is known to be whole and as it was
/// written.
std::string to_record(const JobRequest& request);

/// What was read back: the job, or what is wrong with the file ("is empty", "was edited").
struct Record {
  std::optional<JobRequest> request;
  std::string problem;
};
Record read_record(const std::filesystem::path& file);

/// A field that a run cannot change when it goes on and in which the two differ; nullptr: none.
const JobField* differing_field(const JobRequest& one, const JobRequest& other);

}  // namespace syrtos::job

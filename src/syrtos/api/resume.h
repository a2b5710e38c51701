#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "syrtos/job/request.h"

namespace syrtos::api {

/// A field of a job and its new value, as the field's option takes it.
using Change = std::pair<const job::JobField*, std::string>;

/// Puts the changes into the request. Throws RequestError for a value that a field cannot have.
void apply(const std::vector<Change>& changes, job::JobRequest& request);

/// The request that goes on with a run: what it was asked for, with these changes. Throws
/// RequestError when it is no run, or when a change would make it another one.
job::JobRequest request_to_resume(const std::filesystem::path& run,
                                  const std::vector<Change>& changes);

/// The request with which a training goes on: fields that no run may change are those of the run
/// where the request leaves them as they are by default, and must be the same where it does not.
/// Throws RequestError. Unchanged when `run` is empty.
job::JobRequest going_on(const std::filesystem::path& run, job::JobRequest request);

}  // namespace syrtos::api

#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "syrtos/job/request.h"

namespace syrtos::job {

/// Reads a job file (TOML) over the fields of `request`. Throws RequestError that names file, line
/// and key: not TOML, an unknown key (with the closest known one), a value of the wrong type.
void read_job_file(JobRequest& request, const std::filesystem::path& file);

/// The same for a text; `name` stands for the file in messages.
void read_job_text(JobRequest& request, std::string_view text, const std::string& name);

/// All fields that are set, but the run directory, which a repeat must not share: reading it gives
/// the same request.
std::string to_toml(const JobRequest& request);

}  // namespace syrtos::job

#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/job/request.h"

namespace syrtos::job {

/// Reads a job file (TOML) over the fields of `request`. Throws RequestError that names file, line
/// and key: not TOML, an unknown key (with the closest known one), a value of the wrong type.
void read_job_file(JobRequest& request, const std::filesystem::path& file);

/// The same for a text; `name` stands for the file in messages. Sections that others read are left
/// to them.
void read_job_text(JobRequest& request, std::string_view text, const std::string& name,
                   const std::vector<std::string_view>& of_others = {});

/// What is in a job file, unread. Throws RequestError.
std::string read_job_bytes(const std::filesystem::path& file);

/// Keys begin with this word and a dot: "optimizer", which alone stands for "optimizer.name".
bool is_section(const std::string& key);

/// All fields that are set, but the run directory, which a repeat must not share: reading it gives
/// the same request.
std::string to_toml(const JobRequest& request);

}  // namespace syrtos::job

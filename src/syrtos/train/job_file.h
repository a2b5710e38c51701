#pragma once

#include <filesystem>
#include <string>

#include "syrtos/train/job.h"

namespace syrtos::train {

/// Reads a job file (TOML) over the fields of `job`. Throws RequestError that names file, line and
/// key: not TOML, an unknown key (with the closest known one), a value of the wrong type.
void read_job_file(Job& job, const std::filesystem::path& file);

/// All fields but the run directory, which a repeat must not share: reading it gives the same job.
std::string to_toml(const Job& job);

}  // namespace syrtos::train

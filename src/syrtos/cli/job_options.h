#pragma once

#include <functional>
#include <string>

#include "syrtos/cli/parser.h"
#include "syrtos/job/request.h"

namespace syrtos::cli {

/// Adds the option of a job's field to a command; `take` is told what was given.
Option add_job_option(Command command, const job::JobField& field,
                      const std::function<void(const job::JobField&, const std::string&)>& take);

}  // namespace syrtos::cli

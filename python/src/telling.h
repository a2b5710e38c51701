#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "syrtos/train/progress/observer.h"
#include "syrtos/train/progress/outcome.h"

// What a training says of itself, as the JSON that Python reads.

namespace syrtos::python {

/// Without line ends, and valid UTF-8 whatever names there are.
std::string dumped(const nlohmann::json& value);

nlohmann::json start_json(const train::StartInfo& info);
/// [epoch, epochs, step_in_epoch, ...]: the fields of Python's Progress.
nlohmann::json step_json(const train::StepProgress& progress);
nlohmann::json outcome_json(const train::Outcome& outcome);

}  // namespace syrtos::python

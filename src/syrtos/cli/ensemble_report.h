#pragma once

#include "syrtos/api/predict.h"
#include "syrtos/cli/command.h"

namespace syrtos::cli {

/// Measures an ensemble and its members on the test data and prints it; returns the exit code.
int eval_ensemble(const api::LoadRequest& request, bool json, const Context& context);

}  // namespace syrtos::cli

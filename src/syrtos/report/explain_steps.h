#pragma once

#include <string>
#include <vector>

#include "syrtos/report/explain.h"

// Which steps of a run are usual, and what the others are: the first, which compiles and connects,
// ends of epochs and checkpoints, and pauses. Means and medians are those of usual steps.

namespace syrtos::report {

/// Sets ranks, servers, cluster, spread and pauses of the explanation.
void divide_steps(Explanation& explanation, const Run& run);

}  // namespace syrtos::report

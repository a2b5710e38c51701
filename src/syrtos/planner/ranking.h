#pragma once

#include <vector>

#include "syrtos/planner/plan.h"

namespace syrtos::planner {

/// With computing times that can be right where those that were measured are doubtful
/// (strategy::doubt_of): a batch takes no longer than smaller ones after each other would. Other
/// programs only make computing slower.
Workload believable(Workload workload);

/// What should be known before a plan is followed, a sentence each.
std::vector<std::string> notes_of(const Workload& workload, const Plan& plan);

/// The best for this goal first. What differs by a percent is taken for equal, and then the simpler
/// way comes first.
void rank(std::vector<Prediction>& predictions, Goal goal);

}  // namespace syrtos::planner

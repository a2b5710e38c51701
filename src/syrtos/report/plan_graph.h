#pragma once

#include <string>

#include "syrtos/planner/cut_view.h"
#include "syrtos/report/layout.h"

namespace syrtos::report {

/// A network from its first layer at the top to its last, each in the colour of its part, and what
/// crosses between parts.
Layout graph_layout(const planner::CutView& view, const std::string& title);

}  // namespace syrtos::report

#pragma once

#include "syrtos/cli/command.h"
#include "syrtos/report/plot.h"

namespace syrtos::cli {

/// Prints a chart as large and as colourful as the standard output allows.
void draw(const report::Chart& chart, const Context& context);

}  // namespace syrtos::cli

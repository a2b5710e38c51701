#pragma once

#include <string>
#include <vector>

#include "syrtos/run/metrics.h"

namespace syrtos::train {

struct StartInfo;

/// Makes a word stand out, where that is possible.
using Emphasis = std::string (*)(const std::string&);
std::string plain(const std::string& text);

/// What a run says when training begins: network, data, team, where it is.
std::vector<std::string> start_lines(const StartInfo& info, Emphasis strong = plain);
/// What an epoch of so many came to, in one line.
std::string epoch_line(const run::EpochMetrics& metrics, int64_t epochs, Emphasis strong = plain);

}  // namespace syrtos::train

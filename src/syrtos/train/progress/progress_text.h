#pragma once

#include <string>
#include <vector>

#include "syrtos/run/metrics.h"

namespace syrtos::train {

struct StartInfo;

/// Makes a word stand out, where that is possible.
using Emphasis = std::string (*)(const std::string&);
std::string plain(const std::string& text);

/// What a run says when training begins: network, data, optimizer, team, where it is, and what
/// should be known of all that.
std::vector<std::string> start_lines(const StartInfo& info, Emphasis strong = plain);
/// What an epoch of so many came to, in one line. `sample`: what a sample is called.
std::string epoch_line(const run::EpochMetrics& metrics, int64_t epochs, const std::string& sample,
                       Emphasis strong = plain);

}  // namespace syrtos::train

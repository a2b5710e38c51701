#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "syrtos/train/compiled_network.h"
#include "syrtos/train/resolve.h"

namespace syrtos::train {

/// What must be the same on all workers: program, job, network, layout and data, key -> value.
nlohmann::json fingerprint(const ResolvedJob& job, const CompiledNetwork& network);

/// What the workers' fingerprints (as texts) have other than the first one's, in words; empty when
/// all agree.
std::string differences(const std::vector<std::string>& names,
                        const std::vector<std::string>& fingerprints);

}  // namespace syrtos::train

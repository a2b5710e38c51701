#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "syrtos/job/job.h"
#include "syrtos/train/network/compiled_network.h"

namespace syrtos::train {

using job::Job;

/// What must be the same on all workers: program, job, network, layout (of a network in parts on
/// those that have the same one) and data, key -> value.
nlohmann::json fingerprint(const Job& job, int worker, const CompiledNetwork& network);

/// What the workers' fingerprints (as texts) have other than the first one's, in words; empty when
/// all agree.
std::string differences(const std::vector<std::string>& names,
                        const std::vector<std::string>& fingerprints);

}  // namespace syrtos::train

#pragma once

#include <functional>
#include <string>

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// SHA-256 of what a data set says, however it is stored: the decoded values of every sample in
/// order, then every label as one byte. Samples are of one size. `done(samples)` is called now and
/// then and ends the work when it returns false (RunError).
std::string contents_sha256(const Dataset& dataset, const std::function<bool(int64_t)>& done);

}  // namespace syrtos::data

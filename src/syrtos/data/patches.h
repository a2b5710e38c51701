#pragma once

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// The covariance of all patches of height x width values in the first samples, normalised: a
/// symmetric matrix over [channel][y][x], row-major. Samples must have one size, at least that of a
/// patch.
std::vector<double> patch_covariance(const Dataset& data, const Normalization& normalization,
                                     int64_t height, int64_t width);

}  // namespace syrtos::data

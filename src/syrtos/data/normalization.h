#pragma once

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// Mean and deviation of each channel, over samples spread evenly through the data set: all of a
/// small one, enough of a large one. A channel that never changes gets the deviation 1.
Normalization measure_normalization(const Dataset& data);

}  // namespace syrtos::data

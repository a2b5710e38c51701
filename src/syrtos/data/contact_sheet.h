#pragma once

#include "syrtos/data/dataset.h"
#include "syrtos/data/pictures/picture.h"

namespace syrtos::data {

struct SheetOptions {
  int64_t most_classes = 20;       ///< rows
  int64_t samples_per_class = 10;  ///< columns
};

/// Draws the data set: a row for each class, its name and count beside it, and its first samples.
/// Small pictures are enlarged by a whole factor, large ones fitted; signals become line plots.
/// Names are UTF-8; what the one font that is used lacks becomes a box. Throws RunError.
Picture contact_sheet(const Dataset& dataset, const SheetOptions& options = {});

}  // namespace syrtos::data

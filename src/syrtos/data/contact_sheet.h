#pragma once

#include "syrtos/data/dataset.h"
#include "syrtos/data/pictures/canvas.h"

namespace syrtos::data {

struct SheetOptions {
  int64_t most_classes = 20;       ///< rows
  int64_t samples_per_class = 10;  ///< columns
};

/// A picture of the data set: a row for each class, its name beside it, and its first samples.
/// Small pictures are enlarged by a whole factor, large ones fitted; signals become line plots.
Canvas contact_sheet(const Dataset& dataset, const SheetOptions& options = {});

}  // namespace syrtos::data

#pragma once

#include <filesystem>

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// Whether the path is a .csv or .tsv file, or a directory with train.csv and test.csv (or .tsv).
bool has_csv(const std::filesystem::path& path);

/// Signals, one per line: a label and numbers, separated by commas, semicolons or tabs. The label
/// is in the first column or, when the first line has column names, in the one named label, class
/// or target (in any case). A first line without a number, or with such a name, is column names.
/// Labels that are all whole numbers from 0 to 65535 stay what they are; otherwise each text, with
/// or without quotes, is a class, sorted. In a single file every tenth line of a class is for
/// testing (see split_every_tenth). Samples are f32 of height 1. Throws RequestError that says
/// file:line:column, what was expected and what was found.
Splits open_csv(const std::filesystem::path& path);

}  // namespace syrtos::data

#pragma once

#include <filesystem>

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// Whether the path is a .csv or .tsv file, or a directory with train.csv and test.csv (or .tsv).
bool has_csv(const std::filesystem::path& path);

/// Signals or rows of a table, one per line: numbers and a label, or values to predict, separated
/// by commas, semicolons or tabs. Where those are, `label_column` says or csv_columns.h finds out.
/// A first line without a number, or with a column named label, class, target, ..., is column
/// names. What labels mean, text_targets.h finds out. Samples are f32 of height 1. Throws
/// RequestError that says file:line:column, what was expected and what was found.
Splits open_csv(const std::filesystem::path& path, const std::string& label_column = {},
                TargetKind kind = TargetKind::found_out);

}  // namespace syrtos::data

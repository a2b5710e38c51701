#pragma once

#include <filesystem>

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// Whether the path is a .csv or .tsv file, or a directory with train.csv and test.csv (or .tsv).
bool has_csv(const std::filesystem::path& path);

/// Signals, one per line: a label and numbers, separated by commas, semicolons or tabs. Where the
/// label is, `label_column` says or csv_columns.h finds out. A first line without a number, or with
/// a column named label, class, target, ..., is column names. Labels that are all whole numbers
/// from 0 to 65535 stay what they are (1.0 is 1), other numbers are refused; otherwise each text,
/// with or without quotes, is a class, sorted. In a single file every tenth line of a class is for
/// testing (see split_every_tenth). Samples are f32 of height 1. Throws RequestError that says
/// file:line:column, what was expected and what was found.
Splits open_csv(const std::filesystem::path& path, const std::string& label_column = {});

}  // namespace syrtos::data

#pragma once

#include <filesystem>

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// Whether the path is a .csv or .tsv file of which a column names pictures below its folder, or a
/// directory with one such file, with train.csv and test.csv, or with train/ and test/ (or val/,
/// validation/) that have one each.
bool has_picture_table(const std::filesystem::path& path);

/// Pictures with a table: a line for each, with the name of its file (from the folder of the table
/// on) and what is to be found out about it: a label, or values. Which columns those are,
/// `label_column` says, or the first line's names (label, class, target, ...); otherwise all others
/// are. What they mean, text_targets.h finds out. Throws RequestError.
Splits open_picture_table(const std::filesystem::path& path, const std::string& label_column,
                          TargetKind kind);

/// The pictures that a table names, in its order. Throws RequestError for one that is missing.
std::vector<std::filesystem::path> pictures_of_table(const std::filesystem::path& table);

}  // namespace syrtos::data

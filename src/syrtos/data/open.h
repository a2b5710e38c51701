#pragma once

#include <filesystem>
#include <string>

#include "syrtos/data/dataset.h"
#include "syrtos/data/sets/as_trained.h"

namespace syrtos::data {

/// Where fetched data sets live: <cache home>/syrtos/data/<name>.
std::filesystem::path data_directory(const std::filesystem::path& cache_home);

/// Opens what --data names: a data set that was fetched or packed by name ("mnist"), or a file or
/// directory in any format we know, which is found out from what is there. A name without slashes
/// that is both means the fetched one only if it is in the catalogue. Throws RequestError that says
/// what was looked for and what to do.
struct OpenOptions {
  std::string label_column = {};  ///< of CSV files and tables, see formats/csv_columns.h
  TargetKind targets = TargetKind::found_out;  ///< what numbers beside samples are
  /// The share of the training data that is kept for validation; 0: none. It is the test data of
  /// data that comes without, of which otherwise every tenth sample is kept.
  double validation = 0;
  uint64_t seed = 1;  ///< of that division
  /// What a network was trained on that is to read this data: it is brought into that order, see
  /// as_trained().
  Trained trained = {};
};
Splits open(const std::string& name_or_path, const std::filesystem::path& cache_home,
            const OpenOptions& options = {});

/// Divides data as open() does: what comes without test data, or has a share kept for validation.
Splits divide(Splits splits, const OpenOptions& options);

/// What open() takes for the same data from any directory: a path becomes an absolute one. Throws
/// as open().
std::string lasting_name(const std::string& name_or_path, const std::filesystem::path& cache_home);

/// Where open() finds it and what it takes it for: "packs (train.pack, test.pack)". Throws as
/// open().
struct Found {
  std::filesystem::path path;
  std::string format;
};
Found find(const std::string& name_or_path, const std::filesystem::path& cache_home);

}  // namespace syrtos::data

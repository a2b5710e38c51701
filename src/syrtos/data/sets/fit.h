#pragma once

#include <filesystem>
#include <string_view>

#include "syrtos/data/dataset.h"
#include "syrtos/data/sets/resized.h"

namespace syrtos::data {

/// How samples are brought to another size: data of one size is scaled as a whole; of pictures of
/// different sizes the middle is taken.
Fit fit_of(const DatasetInfo& info);

/// Where samples that were decoded or scaled are kept; automatic: in memory, or on disk when that
/// is too small.
enum class CacheMode { automatic, none, memory, disk };

/// "auto", "none", "memory" or "disk".
const char* to_string(CacheMode mode);
/// Throws RequestError.
CacheMode parse_cache(std::string_view name);

struct FitOptions {
  int64_t height = 0;
  int64_t width = 0;
  CacheMode cache = CacheMode::automatic;
  int64_t free_memory = 0;
  std::filesystem::path cache_directory = {};  ///< for the disk
};

/// The data set with samples of the size that a network takes: as it is when they have it, else
/// scaled, and kept once they were. Throws RequestError for signals of another length.
std::unique_ptr<Dataset> fit(std::unique_ptr<Dataset> of, const FitOptions& options);

}  // namespace syrtos::data

#pragma once

#include <filesystem>
#include <string>

#include "syrtos/data/dataset.h"
#include "syrtos/data/sets/resized.h"

namespace syrtos::data {

/// How samples are brought to another size: data of one size is scaled as a whole; of pictures of
/// different sizes the middle is taken.
Fit fit_of(const DatasetInfo& info);

struct FitOptions {
  int64_t height = 0;
  int64_t width = 0;
  std::string cache = "auto";  ///< of what was decoded or scaled: auto, none, memory or disk
  int64_t free_memory = 0;
  std::filesystem::path cache_directory = {};  ///< for the disk
};

/// The data set with samples of the size that a network takes: as it is when they have it, else
/// scaled, and kept once they were (auto: in memory, or on disk when that is too small). Throws
/// RequestError for signals of another length and for an unknown cache.
std::unique_ptr<Dataset> fit(std::unique_ptr<Dataset> of, const FitOptions& options);

}  // namespace syrtos::data

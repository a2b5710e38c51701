#pragma once

#include <filesystem>
#include <functional>

#include "syrtos/data/fetch/catalogue.h"
#include "syrtos/data/fetch/store.h"

namespace syrtos::data {

/// Where a fetch may write: `work` is private and goes away, `downloads` is kept so that what
/// arrived of a large file is not lost.
struct FetchPlaces {
  std::filesystem::path work;
  std::filesystem::path downloads;
};

/// Brings the files of one source here and returns the file or directory to open. Throws RunError.
std::filesystem::path fetch(const Source& source, const FetchPlaces& places, Observer& observer,
                            const std::function<bool()>& should_stop);

}  // namespace syrtos::data

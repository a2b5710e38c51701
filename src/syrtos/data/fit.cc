#include "syrtos/data/fit.h"

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/data/cache.h"
#include "syrtos/data/resized.h"

namespace syrtos::data {

std::unique_ptr<Dataset> fit(std::unique_ptr<Dataset> of, const FitOptions& options) {
  const std::vector<std::string> caches = {"auto", "none", "memory", "disk"};
  if (std::find(caches.begin(), caches.end(), options.cache) == caches.end()) {
    fail_request("--cache: expected auto, none, memory or disk, found '{}'{}", options.cache,
                 suggestion(options.cache, caches));
  }
  const DatasetInfo& info = of->info();
  const bool fits = info.height == options.height && info.width == options.width;
  if (!fits) {
    if (info.dtype != DType::u8) {
      fail_request("--input: the samples of {} are {}, found {}x{}x{}: leave --input out",
                   info.name, to_string(info.shape()), info.channels, options.height,
                   options.width);
    }
    const Fit how = info.same_size() ? Fit::exact : Fit::centre;
    of = std::make_unique<Resized>(std::move(of), options.height, options.width, how);
  }
  if (options.cache == "none" || (options.cache == "auto" && fits)) return of;
  const CachePlace place = options.cache == "memory" ? CachePlace::memory
                           : options.cache == "disk"
                               ? CachePlace::disk
                               : choose_cache(cache_bytes(of->info()), options.free_memory);
  return std::make_unique<Cached>(std::move(of), place, options.cache_directory);
}

}  // namespace syrtos::data

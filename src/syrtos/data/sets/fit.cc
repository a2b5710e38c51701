#include "syrtos/data/sets/fit.h"

#include <fmt/format.h>

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/base/log.h"
#include "syrtos/data/sets/cache.h"
#include "syrtos/data/sets/resized.h"

namespace syrtos::data {

Fit fit_of(const DatasetInfo& info) { return info.same_size() ? Fit::exact : Fit::centre; }

const char* to_string(CacheMode mode) {
  switch (mode) {
    case CacheMode::automatic:
      return "auto";
    case CacheMode::none:
      return "none";
    case CacheMode::memory:
      return "memory";
    case CacheMode::disk:
      return "disk";
  }
  return "?";
}

CacheMode parse_cache(std::string_view name) {
  for (const auto mode :
       {CacheMode::automatic, CacheMode::none, CacheMode::memory, CacheMode::disk}) {
    if (name == to_string(mode)) return mode;
  }
  fail_request("--cache: expected auto, none, memory or disk, found '{}'{}", name,
               suggestion(name, {"auto", "none", "memory", "disk"}));
}

namespace {

/// The same with something else that people should know about it.
class Noted : public Dataset {
 public:
  Noted(std::unique_ptr<Dataset> of, std::string note) : of_(std::move(of)) {
    info_ = of_->info();
    info_.notes.push_back(std::move(note));
  }
  Target target(int64_t index) const override { return of_->target(index); }
  Sample read(int64_t index, Scratch& scratch) const override { return of_->read(index, scratch); }
  std::span<const uint8_t> encoded(int64_t index, Scratch& scratch) const override {
    return of_->encoded(index, scratch);
  }
  void check() const override { of_->check(); }

 private:
  std::unique_ptr<Dataset> of_;
};

/// Whether so many bytes could be kept there.
bool has_room(const std::filesystem::path& directory, int64_t bytes) {
  if (directory.empty()) return false;
  std::filesystem::path there = directory;  // it may have to be made yet
  std::error_code missing;
  while (!std::filesystem::exists(there, missing) && there.has_relative_path()) {
    there = there.parent_path();
  }
  const std::filesystem::space_info space = std::filesystem::space(there, missing);
  return !missing && bytes >= 0 && space.available >= static_cast<uintmax_t>(bytes);
}

}  // namespace

std::unique_ptr<Dataset> fit(std::unique_ptr<Dataset> of, const FitOptions& options) {
  const DatasetInfo& info = of->info();
  const bool fits = info.height == options.height && info.width == options.width;
  if (!fits) {
    if (info.dtype != DType::u8) {
      if (info.height > 1) {
        fail_request(
            "{}: expected pictures of {}x{}, as the network takes, found {}x{}; only pictures of "
            "bytes are scaled: store them as u8",
            info.name, options.height, options.width, info.height, info.width);
      }
      fail_request("{}: expected signals of {} values, as the network takes, found {}", info.name,
                   options.width, info.width);
    }
    log_info("data {}: samples are scaled to {}x{}", info.name, options.height, options.width);
    of = std::make_unique<Resized>(std::move(of), options.height, options.width, fit_of(info));
  }
  if (options.cache == CacheMode::none ||
      (options.cache == CacheMode::automatic && fits && !info.decodes)) {
    log_info("data {}: samples are not kept (--cache {})", of->info().name,
             to_string(options.cache));
    return of;
  }
  const CachePlace place = options.cache == CacheMode::memory ? CachePlace::memory
                           : options.cache == CacheMode::disk
                               ? CachePlace::disk
                               : choose_cache(cache_bytes(of->info()), options.free_memory);
  if (options.cache == CacheMode::automatic && place == CachePlace::disk &&
      !has_room(options.cache_directory, cache_bytes(of->info()))) {
    std::string note = fmt::format(
        "{}: samples are {} each time they are used, since neither half of the free memory nor the "
        "disk has {} to keep them",
        of->info().name, fits ? "decoded" : "scaled",
        format_bytes(static_cast<double>(cache_bytes(of->info()))));
    return std::make_unique<Noted>(std::move(of), std::move(note));
  }
  log_info("data {}: {} of samples are kept {} (--cache {}, {} of memory are free)",
           of->info().name, format_bytes(static_cast<double>(cache_bytes(of->info()))),
           place == CachePlace::disk ? "in " + options.cache_directory.string() : "in memory",
           to_string(options.cache), format_bytes(static_cast<double>(options.free_memory)));
  if (place == CachePlace::disk) {
    if (options.cache_directory.empty()) {
      fail_request(
          "--cache: expected a cache directory for the disk, found none; set HOME or "
          "XDG_CACHE_HOME, or use --cache memory");
    }
    std::error_code ignored;  // Cached says what is wrong with it
    std::filesystem::create_directories(options.cache_directory, ignored);
  }
  return std::make_unique<Cached>(std::move(of), place, options.cache_directory);
}

}  // namespace syrtos::data

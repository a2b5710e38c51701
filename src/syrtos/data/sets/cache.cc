#include "syrtos/data/sets/cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"

namespace syrtos::data {

namespace {

int64_t bytes_of(const DatasetInfo& info) {
  return info.shape().elements() * static_cast<int64_t>(size_of(info.dtype));
}

/// Opens a file without a name: whatever happens to us, nothing is left behind. Returns -1, with
/// errno, when that fails.
int nameless_file(const std::filesystem::path& directory) {
  const int descriptor = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return descriptor;
  std::string name = (directory / "syrtos-cache-XXXXXX").string();
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

}  // namespace

CachePlace choose_cache(int64_t bytes, int64_t free_memory) {
  return bytes <= free_memory / 2 ? CachePlace::memory : CachePlace::disk;
}

int64_t cache_bytes(const DatasetInfo& info) {
  const auto stride = static_cast<int64_t>(align_up(static_cast<size_t>(bytes_of(info))));
  int64_t bytes = 0;
  if (__builtin_mul_overflow(stride, info.size, &bytes)) return INT64_MAX;
  return bytes;
}

Cached::Cached(std::unique_ptr<Dataset> of, CachePlace place,
               const std::filesystem::path& directory)
    : of_(std::move(of)) {
  info_ = of_->info();
  SYRTOS_CHECK(info_.same_size(), "{}: {}x{}", info_.name, info_.height, info_.width);
  stride_ = static_cast<int64_t>(align_up(static_cast<size_t>(bytes_of(info_))));
  bytes_ = static_cast<size_t>(cache_bytes(info_));
  // The states come first: when they do not fit, nothing is mapped yet that would have to be given
  // back.
  states_ = std::make_unique<std::atomic<uint8_t>[]>(static_cast<size_t>(info_.size));
  if (bytes_ == 0) return;
  if (place == CachePlace::disk) {
    map_file(directory);
  } else {
    memory_ = Buffer(bytes_, "the cache of samples");
    samples_ = memory_.as<uint8_t>();
  }
}

Cached::~Cached() {
  if (mapped_) munmap(samples_, bytes_);
}

void Cached::map_file(const std::filesystem::path& directory) {
  const auto fail = [&](int reason) {
    fail_run("cannot keep {} of samples in {}: {}; free some space or choose another directory",
             format_bytes(static_cast<double>(bytes_)), directory.string(), std::strerror(reason));
  };
  const int descriptor = nameless_file(directory);
  if (descriptor < 0) fail(errno);
  // Without this a full disk would show as SIGBUS in the middle of the first epoch.
  const int reserved = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes_));
  void* memory = MAP_FAILED;
  if (reserved == 0) {
    memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }
  const int reason = reserved != 0 ? reserved : errno;
  close(descriptor);
  if (memory == MAP_FAILED) fail(reason);
  samples_ = static_cast<uint8_t*>(memory);
  mapped_ = true;
}

Sample Cached::read(int64_t index, Scratch& scratch) const {
  std::atomic<uint8_t>& state = states_[static_cast<size_t>(index)];
  uint8_t found = state.load(std::memory_order_acquire);
  if (found == empty && state.compare_exchange_strong(found, writing)) return keep(index, scratch);
  if (found != ready) return of_->read(index, scratch);
  return {.values = place_of(index),
          .dtype = info_.dtype,
          .channels = info_.channels,
          .height = info_.height,
          .width = info_.width,
          .target = target(index)};
}

Sample Cached::keep(int64_t index, Scratch& scratch) const {
  std::atomic<uint8_t>& state = states_[static_cast<size_t>(index)];
  try {
    Sample sample = of_->read(index, scratch);
    std::memcpy(place_of(index), sample.values, static_cast<size_t>(bytes_of(info_)));
    of_->check();
    state.store(ready, std::memory_order_release);
    sample.values = place_of(index);
    return sample;
  } catch (...) {
    state.store(empty);
    throw;
  }
}

}  // namespace syrtos::data

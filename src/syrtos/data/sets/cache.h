#pragma once

#include <atomic>
#include <filesystem>

#include "syrtos/data/dataset.h"
#include "syrtos/tensor/buffer.h"

namespace syrtos::data {

enum class CachePlace : uint8_t { memory, disk };

/// Where `bytes` of samples go when `free_memory` bytes are free: memory when half of it is enough,
/// since the network needs the rest.
CachePlace choose_cache(int64_t bytes, int64_t free_memory);

/// What Cached would take for all samples of a data set of one size.
int64_t cache_bytes(const DatasetInfo& info);

/// Keeps every sample after it was read for the first time, for data sets that decode or scale.
/// Threads may read the same sample at once: one of them keeps it, the others do not wait.
class Cached : public Dataset {
 public:
  /// All samples must have one size. On disk they go to a nameless file in `directory`, which is
  /// reserved in full now and gone with the process. Throws RunError when there is no room.
  Cached(std::unique_ptr<Dataset> of, CachePlace place,
         const std::filesystem::path& directory = {});
  ~Cached() override;
  Cached(const Cached&) = delete;
  Cached& operator=(const Cached&) = delete;

  Target target(int64_t index) const override { return of_->target(index); }
  Sample read(int64_t index, Scratch& scratch) const override;
  void check() const override { of_->check(); }

 private:
  enum State : uint8_t { empty, writing, ready };

  void map_file(const std::filesystem::path& directory);
  Sample keep(int64_t index, Scratch& scratch) const;
  uint8_t* place_of(int64_t index) const { return samples_ + index * stride_; }

  std::unique_ptr<Dataset> of_;
  int64_t stride_ = 0;
  size_t bytes_ = 0;
  Buffer memory_;
  bool mapped_ = false;
  uint8_t* samples_ = nullptr;
  std::unique_ptr<std::atomic<uint8_t>[]> states_;
};

}  // namespace syrtos::data

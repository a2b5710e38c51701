#pragma once

#include <filesystem>
#include <functional>

#include "syrtos/train/job.h"
#include "syrtos/train/precision.h"

namespace syrtos::train {

struct DataProbeOptions {
  std::string data = "cifar10";
  std::string augment = "none";
  std::string input = "auto";
  int64_t batch = 128;
  std::string precision = "auto";
  int64_t prefetch = 4;
  std::string cache = "auto";
  int64_t threads = 0;  ///< 0: all cores
  double seconds = 3;
};

struct DataProbeResult {
  Job job;  ///< with nothing open
  int64_t samples = 0;
  double seconds = 0;
  double images_per_s = 0;
  double read_us = 0;       ///< per image and thread: reading and decoding
  double transform_us = 0;  ///< augmentation, normalisation, conversion
};

/// Measures how fast batches can be made when nothing else is done: after one epoch, or a second,
/// that nobody counts.
DataProbeResult probe_data(const DataProbeOptions& options, const CpuInfo& cpu,
                           const std::filesystem::path& cache_home,
                           const std::function<bool()>& should_stop);

}  // namespace syrtos::train

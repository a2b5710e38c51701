#pragma once

#include <filesystem>

#include "syrtos/data/dataset.h"
#include "syrtos/train/job.h"
#include "syrtos/train/precision.h"

namespace syrtos::train {

/// "32", "48x64" or "3x48x64"; what is left open, everything for "auto", is 0.
struct ImageSize {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;

  /// [channels, height, width], with those of `open` (or the network's own) where nothing was said.
  Shape shape_or(const Shape& open) const;
  Shape shape_for(const nn::ModelInfo& network) const;
};
ImageSize parse_image_size(std::string_view text);

/// How many test samples go with random training data, and from which seed.
int64_t random_test_samples(int64_t samples);
uint64_t random_test_seed(uint64_t seed);

/// A job in which nothing is open any more, and the data it is about.
struct ResolvedJob {
  Job job;
  Precision precision;
  Shape image;  ///< [channels, height, width]
  data::DataPair data;

  nn::ModelOptions model_options(bool training) const;
};

/// Decides what the job leaves open and checks everything that can be checked before building the
/// network. Opens the data. Throws RequestError.
ResolvedJob resolve(Job job, const CpuInfo& cpu, const std::filesystem::path& data_home);

}  // namespace syrtos::train

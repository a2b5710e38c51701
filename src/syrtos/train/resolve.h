#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "syrtos/data/pipeline/augment.h"
#include "syrtos/data/pipeline/order.h"
#include "syrtos/data/sets/fit.h"
#include "syrtos/nn/network.h"
#include "syrtos/ops/backend.h"
#include "syrtos/strategy/options.h"
#include "syrtos/train/evaluate.h"
#include "syrtos/train/job.h"
#include "syrtos/train/machine.h"
#include "syrtos/train/precision.h"
#include "syrtos/train/trace_steps.h"

namespace syrtos::train {

/// "32", "48x64" or "3x48x64"; what is left open, everything for "auto", is 0.
struct ImageSize {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;

  /// [channels, height, width], with those of `open` (or the network's own) where nothing was said.
  Shape shape_or(const Shape& open) const;
  Shape shape_for(const nn::NetworkInfo& network) const;
};
ImageSize parse_image_size(std::string_view text);

/// Random data to train on, and an eighth as much, from another seed, to measure with.
data::Splits random_splits(int64_t samples, const Shape& image, int64_t classes, uint64_t seed);

/// The data of a job, which several workers of one process may read.
struct JobData {
  std::shared_ptr<const data::Dataset> train;
  std::shared_ptr<const data::Dataset> test;
};

/// A job in which nothing is open any more, and the data it is about. Copies have the data in
/// common.
struct ResolvedJob {
  nn::Network network;
  Job job = {};
  Precision precision = {};
  Shape image = {};  ///< [channels, height, width]
  JobData data = {};
  data::Normalization normalization = {};
  data::Fit fit = data::Fit::exact;  ///< of samples that do not have the network's size
  data::Augment augment = {};
  data::Remainder remainder = data::Remainder::short_batch;
  std::vector<View> views = {};

  strategy::Options strategy = {};
  TraceSteps trace = {};                       ///< that are recorded event by event
  double planned_step_s = 0;                   ///< what a plan says of a step; 0: there was none
  std::optional<Machine> machine = {};         ///< what this host can do at best, if that is known
  std::shared_ptr<ops::Backend> backend = {};  ///< makes the kernels; none: the CPU's

  nn::ModelOptions model_options(int64_t batch) const;
  /// Samples of all workers in a step.
  int64_t step_samples() const;
  int64_t steps_per_epoch() const;
  /// Samples that one worker takes in a step, and in the last step of an epoch when that one is
  /// shorter (otherwise 0).
  int64_t share(int worker) const;
  int64_t short_share(int worker) const;
};

/// Decides what the job leaves open and checks everything that can be checked before building the
/// network. Opens the data. Throws RequestError.
ResolvedJob resolve(Job job, const CpuInfo& cpu, const std::filesystem::path& cache_home);

}  // namespace syrtos::train

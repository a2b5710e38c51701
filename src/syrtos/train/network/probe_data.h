#pragma once

#include <cstdint>
#include <functional>

#include "syrtos/job/job.h"

namespace syrtos::train {

struct DataProbeResult {
  int64_t samples = 0;
  double seconds = 0;
  double images_per_s = 0;
  double read_us = 0;       ///< Per image and thread: reading and decoding.
  double transform_us = 0;  ///< Augmentation, normalisation, conversion.
};

/// Measures for so many seconds how fast batches of the job can be made when nothing else is done:
/// after one epoch, or a second, that nobody counts.
DataProbeResult probe_data(const job::Job& job, double measured_s,
                           const std::function<bool()>& should_stop);

}  // namespace syrtos::train

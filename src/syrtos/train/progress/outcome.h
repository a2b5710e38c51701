#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "syrtos/run/metrics.h"
#include "syrtos/train/checkpoint/snapshot.h"

namespace syrtos::train {

using run::EpochMetrics;

/// How a run ended.
struct Outcome {
  enum class End { complete, stopped_early, interrupted };
  End end = End::complete;
  Position position;
  std::string unsaved;               ///< why the last checkpoint could not be written
  std::vector<EpochMetrics> epochs;  ///< that this process has seen, of all workers
  double seconds = 0;
  std::map<int64_t, int64_t> staleness;  ///< updates between pull and push -> pushes, at rank 0
  int64_t dropped = 0;                   ///< of them: gradients that came too late to count
};

}  // namespace syrtos::train

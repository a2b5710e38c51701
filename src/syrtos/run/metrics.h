#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "syrtos/run/directory.h"
#include "syrtos/run/metric.h"
#include "syrtos/trace/division.h"

namespace syrtos::run {

/// Where the time of one worker went in an epoch.
struct WorkerEpoch {
  int rank = 0;
  std::string host;
  trace::StepDivision seconds;

  bool operator==(const WorkerEpoch&) const = default;
};

/// One line of metrics.jsonl: what an epoch came to.
struct EpochMetrics {
  int64_t epoch = 0;    ///< from 1
  int64_t step = 0;     ///< steps done so far in the run
  int64_t samples = 0;  ///< of the epoch that this process trained on
  double train_loss = 0;
  Scores train = {};         ///< beside the loss: what the task is measured by
  bool evaluated = true;     ///< otherwise the next two mean nothing
  std::string set = "test";  ///< what was measured on: test or validation data
  double test_loss = 0;
  Scores test = {};
  double learning_rate = 0;  ///< of the last step
  double images_per_s = 0;   ///< of all workers
  trace::StepDivision seconds =
      {};             ///< of worker 0; checkpoint: also of the end of the epoch before
  double queue = 0;   ///< batches that were ready, on average, when a step asked for one
  double helped = 0;  ///< share of the samples that steps had to prepare themselves
  bool best = false;
  std::vector<WorkerEpoch> workers = {};  ///< those that are left; empty for one

  bool operator==(const EpochMetrics&) const = default;
  /// Of the test data: "loss", or one of the scores; NaN: there is none.
  double test_value(std::string_view metric) const;
};

nlohmann::json to_json(const EpochMetrics& metrics);
/// Nothing, if it is no such object; what is missing in it is 0.
std::optional<EpochMetrics> epoch_from_json(const nlohmann::json& json);

/// Adds a line. Throws RunError.
void append(const Directory& directory, const EpochMetrics& metrics);
/// Adds those of these epochs that have ended by this step and are not there. Throws RunError.
void append_missing(const Directory& directory, const std::vector<EpochMetrics>& epochs,
                    int64_t step);
/// All lines that can be read; notes tell of the others.
std::vector<EpochMetrics> read_metrics(const Directory& directory, Notes& notes);
/// Forgets epochs that ended after this step: they are about to be repeated. Returns whether the
/// last one that is left ended with this step and was the best. Throws RunError, also when the
/// lines cannot be read: then they stay.
bool rewind_metrics(const Directory& directory, int64_t step);

}  // namespace syrtos::run

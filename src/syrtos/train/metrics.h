#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "syrtos/trace/division.h"

namespace syrtos::train {

/// Where an epoch's time went, in seconds.
struct PartSeconds {
  double load = 0;  ///< that steps waited for their batch
  double forward = 0;
  double backward = 0;
  double update = 0;
  double network = 0;  ///< exchanging, with nothing to compute meanwhile
  double wait = 0;     ///< for a slower worker
  double evaluate = 0;
  double checkpoint = 0;  ///< also of the end of the epoch before
  double other = 0;

  PartSeconds& operator+=(const PartSeconds& more) {
    load += more.load;
    forward += more.forward;
    backward += more.backward;
    update += more.update;
    network += more.network;
    wait += more.wait;
    evaluate += more.evaluate;
    checkpoint += more.checkpoint;
    other += more.other;
    return *this;
  }
  double training() const { return load + forward + backward + update + network + wait + other; }
  double all() const { return training() + evaluate + checkpoint; }
};

PartSeconds parts_of(const trace::StepDivision& division);
nlohmann::json to_json(const PartSeconds& seconds);

/// One line of metrics.jsonl.
struct EpochMetrics {
  int64_t epoch = 0;  ///< from 1
  int64_t step = 0;   ///< steps done so far in the run
  int64_t samples = 0;
  double train_loss = 0;
  double train_accuracy = 0;
  bool evaluated = true;  ///< otherwise the next three mean nothing
  double test_loss = 0;
  double test_accuracy = 0;
  double test_top5 = 0;      ///< share of samples whose class is among the five most probable
  double learning_rate = 0;  ///< of the last step
  PartSeconds seconds;
  double queue = 0;   ///< batches that were ready, on average, when a step asked for one
  double helped = 0;  ///< share of the samples that steps had to prepare themselves
  bool best = false;
  /// Where the time of each worker went (those that are left), and on which host; empty for one.
  struct Worker {
    int rank = 0;
    std::string host;
    PartSeconds seconds;
  };
  std::vector<Worker> workers;

  double images_per_s() const {
    return seconds.training() > 0 ? static_cast<double>(samples) / seconds.training() : 0;
  }
};

nlohmann::json to_json(const EpochMetrics& metrics);

}  // namespace syrtos::train

#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

namespace syrtos::train {

/// Where an epoch's time went, in seconds.
struct PartSeconds {
  double load = 0;  ///< that steps waited for their batch
  double forward = 0;
  double backward = 0;
  double update = 0;
  double evaluate = 0;

  PartSeconds& operator+=(const PartSeconds& other) {
    load += other.load;
    forward += other.forward;
    backward += other.backward;
    update += other.update;
    evaluate += other.evaluate;
    return *this;
  }
  double training() const { return load + forward + backward + update; }
};

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

  double images_per_s() const {
    return seconds.training() > 0 ? static_cast<double>(samples) / seconds.training() : 0;
  }
};

inline nlohmann::json to_json(const EpochMetrics& m) {
  nlohmann::json json = {{"epoch", m.epoch},
                         {"step", m.step},
                         {"samples", m.samples},
                         {"train_loss", m.train_loss},
                         {"train_accuracy", m.train_accuracy},
                         {"lr", m.learning_rate},
                         {"images_per_s", m.images_per_s()},
                         {"queue", m.queue},
                         {"helped", m.helped},
                         {"best", m.best},
                         {"seconds",
                          {{"load", m.seconds.load},
                           {"forward", m.seconds.forward},
                           {"backward", m.seconds.backward},
                           {"update", m.seconds.update},
                           {"evaluate", m.seconds.evaluate}}}};
  if (m.evaluated) {
    json["test_loss"] = m.test_loss;
    json["test_accuracy"] = m.test_accuracy;
    json["test_top5"] = m.test_top5;
  }
  return json;
}

}  // namespace syrtos::train

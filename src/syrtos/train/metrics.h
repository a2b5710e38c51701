#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

namespace syrtos::train {

/// Where an epoch's time went, in seconds.
struct PartSeconds {
  double data = 0;
  double forward = 0;
  double backward = 0;
  double update = 0;
  double evaluate = 0;

  double training() const { return data + forward + backward + update; }
};

/// One line of metrics.jsonl.
struct EpochMetrics {
  int64_t epoch = 0;  ///< from 1
  int64_t step = 0;   ///< steps done so far in the run
  int64_t samples = 0;
  double train_loss = 0;
  double train_accuracy = 0;
  double test_loss = 0;
  double test_accuracy = 0;
  double learning_rate = 0;  ///< of the last step
  PartSeconds seconds;
  bool best = false;

  double images_per_s() const {
    return seconds.training() > 0 ? static_cast<double>(samples) / seconds.training() : 0;
  }
};

inline nlohmann::json to_json(const EpochMetrics& m) {
  return {{"epoch", m.epoch},
          {"step", m.step},
          {"samples", m.samples},
          {"train_loss", m.train_loss},
          {"train_accuracy", m.train_accuracy},
          {"test_loss", m.test_loss},
          {"test_accuracy", m.test_accuracy},
          {"lr", m.learning_rate},
          {"images_per_s", m.images_per_s()},
          {"best", m.best},
          {"seconds",
           {{"data", m.seconds.data},
            {"forward", m.seconds.forward},
            {"backward", m.seconds.backward},
            {"update", m.seconds.update},
            {"evaluate", m.seconds.evaluate}}}};
}

}  // namespace syrtos::train

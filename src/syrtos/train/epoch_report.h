#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "syrtos/job/job.h"
#include "syrtos/run/metrics.h"
#include "syrtos/strategy/step_sums.h"
#include "syrtos/trace/division.h"

namespace syrtos::train {

/// What a worker brings to the meeting at the end of an epoch.
struct EpochReport {
  std::string host;  ///< empty: of a worker that is lost
  trace::StepDivision seconds;
  strategy::Sums training;  ///< of the worker's own samples, where workers do not keep in step
  int64_t trained = 0;  ///< samples of the epoch in this process, of all who keep in step with it
  std::vector<double> sums;  ///< of its part of the test data, see ScoreSums
  double evaluate_seconds = 0;
  double queue = 0;
  double helped = 0;
};

nlohmann::json to_json(const EpochReport& report);
EpochReport epoch_report_of(const nlohmann::json& text);

}  // namespace syrtos::train

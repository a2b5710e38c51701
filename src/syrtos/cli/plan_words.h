#pragma once

#include <string>
#include <vector>

#include "syrtos/api/plan.h"
#include "syrtos/cli/plan_options.h"
#include "syrtos/cli/train_options.h"

namespace syrtos::cli {

/// What has to be typed to train as planned, on the hosts planned for.
class PlanWords {
 public:
  PlanWords(const TrainOptions& job, const PlanOptions& plan, const api::Planned& planned);

  std::string command_for(const planner::Prediction& way) const;
  /// The value of --hosts for a way; empty: processes of this machine.
  std::string hosts_for(const planner::Prediction& way) const;
  /// What has to be done before a command can run; empty: nothing.
  std::string note() const;

 private:
  std::vector<std::string> names_of(const planner::Prediction& way) const;

  const TrainOptions& job_;
  const PlanOptions& plan_;
  const api::Planned& planned_;
};

}  // namespace syrtos::cli

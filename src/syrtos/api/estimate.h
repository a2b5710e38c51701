#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "syrtos/api/probe.h"
#include "syrtos/planner/formulas.h"
#include "syrtos/report/plot.h"

namespace syrtos::api {

/// What several workers gain, by formulas (planner/formulas.h).
struct Estimate {
  planner::EstimateType type = planner::EstimateType::sync_join;
  planner::ServerKind server = planner::ServerKind::central;
  planner::EstimateInput input = {};
  std::string source = {};  ///< Where the times come from; empty: they were given.
  bool bounds = false;      ///< Best and worst are asked for too.

  planner::Bounds speed_up(int64_t workers) const;
  /// Which number of workers has the largest estimate; of equal ones the smallest.
  int64_t fastest() const;
};

/// Which of the times are measured, and what of.
struct EstimateProbe {
  ProbeRequest probe = {.network = ""};
  std::string bandwidth = "1 Gbit/s";  ///< t_comm: 4 bytes of each parameter at this speed
  bool t_grad = true;
  bool t_comm = true;
};

/// Fills these times, and says in `source` how. Blocks for as long as measuring takes. Throws
/// RequestError, RunError when it is to stop.
void measure(const EstimateProbe& request, const Surroundings& surroundings, Estimate& estimate);

/// Speed-up over the number of workers, as a picture.
report::Chart chart_of(const Estimate& estimate);

/// For programs; `all`: the speed-up of every number of workers too.
nlohmann::json to_json(const Estimate& estimate, bool all);

}  // namespace syrtos::api

#pragma once

#include "syrtos/planner/simulate.h"
#include "syrtos/report/explain.h"

namespace syrtos::report {

/// A run as the planner sees it: measured passes, links that are to each other as they were
/// measured, and as fast as they must have been for the step to take as long as it did.
class RunModel {
 public:
  /// False where the run does not know enough, or the simulation would take too long.
  bool build(const Explanation& explanation, const Run& run);

  /// Images per second against the run's own, simulated both; 0 when it cannot be.
  double speed_up(const planner::Candidate& candidate, const planner::Workload& workload,
                  const planner::ClusterProfile& cluster) const;

  const planner::Candidate& actual() const { return actual_; }
  const planner::Workload& workload() const { return workload_; }
  const planner::ClusterProfile& cluster() const { return cluster_; }

 private:
  double busy_seconds(const Explanation& explanation) const;
  void build_workload(const Explanation& explanation, const Run& run);
  void build_cluster(const Explanation& explanation, const Run& run);
  void set_bandwidth(double bytes_per_s);
  void calibrate(double measured_s);

  planner::Workload workload_;
  planner::ClusterProfile cluster_;
  planner::Candidate actual_;
  std::vector<double> relative_;  // of each host's link to the fastest
  double base_s_ = 0;
};

}  // namespace syrtos::report

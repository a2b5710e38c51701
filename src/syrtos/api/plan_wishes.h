#pragma once

#include <string>

#include "syrtos/api/plan.h"

namespace syrtos::api {

/// What a plan is asked for beside the job, as people write it.
struct PlanWishes {
  std::string cluster = {};  ///< profile file, or "16 hosts, 10 Gbit/s, 50 us"; empty: this machine
  std::string compute = {};  ///< file of computing times; empty: measured here
  std::string hosts = {};    ///< file
  std::string workers = {};  ///< "8" (up to) or "2,4,8"; empty: all that fit
  std::string exchanges = {};
  std::string syncs = {};
  std::string wires = {};
  std::string splits = {};
  std::string pipelines = {};
  double bucket_mb = 0;
  std::string goal = "result";
  double seconds = 1;  ///< to measure each batch size for
  bool what_if = false;
  bool replayed = false;
};

/// What they mean. Reads the files that they name. Throws RequestError.
PlanRequest plan_request(const PlanWishes& wishes, const job::JobRequest& job, const CpuInfo& cpu);

}  // namespace syrtos::api

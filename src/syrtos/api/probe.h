#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "syrtos/api/surroundings.h"
#include "syrtos/job/request.h"
#include "syrtos/train/measure/fastest.h"
#include "syrtos/train/network/probe.h"
#include "syrtos/train/network/probe_data.h"

namespace syrtos::api {

/// What is to be measured, as people write it.
struct ProbeRequest {
  std::string network = "resnet18";
  std::optional<nn::Network> own = {};  ///< That the caller brings along instead.
  int64_t batch = 42;
  std::string input = "auto";
  int64_t classes = job::kUnset;  ///< Unset: the network's own.
  std::string precision = "auto";
  int64_t threads = 0;  ///< 0: all cores.
  double seconds = 3;
  bool profile = false;
};

/// A network and how it is measured.
struct ProbeWork {
  nn::Network network;
  train::ProbeOptions options;
};

/// What is left open, precision or threads, is what computes it fastest here. Throws RequestError.
ProbeWork resolve(const ProbeRequest& request, const Surroundings& surroundings);

/// A file of computing times, which plans are made from and 'train --replay' sleeps for.
struct TimesFile {
  std::filesystem::path file = {};    ///< Empty: none is written.
  std::vector<int64_t> batches = {};  ///< That it has beside the request's.
};

struct Probed {
  train::ProbeResult result;
  std::string doubt = {};  ///< What makes the times of the file doubtful; empty: nothing.
};

/// Measures the steps of a network. Blocks. Where it is to stop it returns what it has until then,
/// and writes no file. Throws RequestError, RunError.
Probed probe(const ProbeRequest& request, const TimesFile& times, const Surroundings& surroundings);

/// A step in every precision and number of threads that the request leaves open.
struct SettingsProbed {
  int64_t batch = 0;
  std::vector<train::Setting> settings = {};  ///< Fewer where it was to stop.
};
SettingsProbed probe_settings(const ProbeRequest& request, const Surroundings& surroundings);

/// How fast batches are made of a job's data.
struct DataProbed {
  job::JobRequest job = {};  ///< In which nothing is open.
  train::DataProbeResult result = {};
};
/// Measures for so many seconds, or until it is to stop. Blocks. Throws RequestError.
DataProbed probe_data(const job::JobRequest& job, double seconds, const Surroundings& surroundings);

/// What was measured, for programs.
nlohmann::json to_json(const train::ProbeResult& result);
nlohmann::json to_json(const DataProbed& probed);
nlohmann::json to_json(const SettingsProbed& probed);

}  // namespace syrtos::api

#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "syrtos/api/surroundings.h"
#include "syrtos/job/request.h"
#include "syrtos/job/resolve.h"
#include "syrtos/run/owner.h"
#include "syrtos/train/progress/observer.h"
#include "syrtos/train/progress/outcome.h"

namespace syrtos::api {

/// What to train.
struct TrainRequest {
  job::JobRequest job = {};
  job::Own own = {};                  ///< A network and data that the caller brings along.
  std::filesystem::path resume = {};  ///< The run to go on with; empty: a new one.
  run::Claim claim = {};              ///< With it worker 0 has the run's directory.
  double planned_step_s = 0;          ///< What a plan says of a step; 0: there was none.
  /// When this was asked for, seconds since 1970; 0: when the library is called.
  double asked = 0;
  double data_s = 0;  ///< That the data has taken already, at the launcher.
  /// Why the precision is what it is, where a launcher has chosen it; empty: the job says it.
  std::string precision_reason = {};
};

/// A training that has ended, or was interrupted; its directory has the rest.
struct Trained {
  std::filesystem::path run;
  train::Outcome outcome;
};

/// Told the run's directory as soon as it is there. May be empty.
using OnRun = std::function<void(const std::filesystem::path& run)>;

/// Trains in this process and blocks until the end: one worker on the calling thread, several
/// workers (and servers) as threads that speak over the loopback interface. The observer is told of
/// every step, on the thread that takes it, and training waits for it: who may block, as a terminal
/// does, gets a train::ObserverThread. Throws RequestError before anything was started, RunError
/// when the run failed.
Trained train(const TrainRequest& request, const Surroundings& surroundings,
              train::TrainObserver& observer, const OnRun& on_run = {});

/// The same, and nobody is told.
Trained train(const TrainRequest& request, const Surroundings& surroundings = {});

}  // namespace syrtos::api

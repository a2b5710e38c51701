#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "syrtos/train/team/server_work.h"
#include "syrtos/train/trainer.h"

namespace syrtos::train {

using job::Job;

/// All workers and servers of a job as threads of this process, with --exchange shared on one set
/// of weights. They train as processes do; what they say to each other goes over the loopback
/// interface.
class ThreadTeam {
 public:
  /// Builds every worker. Throws RequestError.
  explicit ThreadTeam(const Job& job, const TrainerOptions& options = {});

  /// The one to begin() or resume().
  Trainer& first() { return *workers_.front(); }
  Trainer& worker(int index) { return *workers_[static_cast<size_t>(index)]; }

  /// As Trainer::run; `should_stop` is asked by all threads, the observer is told by worker 0's.
  /// When one fails all end, and what it threw is thrown. The staleness is that of all.
  Outcome run(TrainObserver& observer, const std::function<bool()>& should_stop);

 private:
  const ServerJob serving_;
  std::vector<std::unique_ptr<Trainer>> workers_;
};

}  // namespace syrtos::train

#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "syrtos/job/request.h"
#include "syrtos/report/account.h"
#include "syrtos/run/curve.h"
#include "syrtos/run/exchange.h"
#include "syrtos/run/hosts.h"
#include "syrtos/run/metrics.h"
#include "syrtos/run/operators.h"
#include "syrtos/run/parts.h"
#include "syrtos/run/progress.h"
#include "syrtos/run/test_scores.h"
#include "syrtos/strategy/options.h"
#include "syrtos/trace/division_log.h"
#include "syrtos/trace/trace_file.h"

// A run directory as data: what its files say together, and what they do not.

namespace syrtos::report {

using run::BucketTimes;
using run::CurvePoint;
using run::EpochMetrics;
using run::ExchangeProfile;
using run::OperatorItem;
using run::OperatorProfile;

/// What was asked for, from job.toml. Empty and 0: not known.
struct RunJob {
  /// As 'syrtos train' takes it, distributed as the last part of the run was; nothing where
  /// something in it is not known.
  std::optional<job::JobRequest> request;
  std::string network, data, precision;
  int64_t batch = 0, epochs = 0, steps = 0;
  int64_t workers = 1;
  bool replayed = false;       ///< nothing was computed: losses mean nothing
  strategy::Options strategy;  ///< how the work was distributed
  bool strategy_known = true;  ///< false: nobody knows its words, and `strategy` is the default

  /// Samples that one worker takes in a step.
  int64_t worker_batch() const { return strategy.sync.worker_samples(batch, replicas()); }
  /// Whole copies of the network that the workers had.
  int64_t replicas() const { return std::max<int64_t>(1, workers / strategy.split.parts); }
  bool in_parts() const { return strategy.split.parts > 1; }
};

/// What one rank did.
struct RunRank {
  int rank = 0;
  std::string host = {};  ///< empty: not known
  std::vector<trace::DivisionRecord> records = {};
  bool per_epoch = false;  ///< records are epochs: there is nothing finer
  int server = -1;         ///< which one, if it is a server of its own

  std::string name() const;  ///< "rank 3 on c", "server 0 on d"
};

/// "rank 2 on c was lost at step 8"
std::string lost_text(const run::LostWorker& lost);

struct Run {
  std::filesystem::path path;
  RunJob job;
  std::vector<run::TrainedPart> parts;  ///< in order; more than one: it went on
  std::vector<run::LostWorker> lost;    ///< in the last one
  std::optional<TimeAccount> account;   ///< of all parts
  std::vector<EpochMetrics> epochs;
  std::vector<CurvePoint> points;
  const run::Metric* point_metric = nullptr;  ///< what the score of points is; nullptr: not known
  std::optional<run::TestScores> scores;      ///< of the best epoch
  std::vector<RunRank> ranks;                 ///< by rank
  std::optional<OperatorProfile> operators;
  std::optional<ExchangeProfile> exchange;
  run::HostCurves hosts;
  std::optional<trace::TraceContents> trace;
  std::optional<run::Progress> progress;
  run::Notes notes;  ///< what is missing or damaged, and what was done about it

  std::string name() const;
  /// It did all that was asked for, as far as the metrics say.
  bool complete() const;
  int64_t samples_per_step() const;  ///< of all workers; 0: not known
  /// The first step of a process compiles, connects and reads cold files.
  bool begins_part(int64_t step) const;
};

}  // namespace syrtos::report

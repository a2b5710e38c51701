#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "syrtos/strategy/options.h"
#include "syrtos/trace/division_log.h"
#include "syrtos/trace/host_reading.h"
#include "syrtos/trace/trace_file.h"

// A run directory as data: what its files say, and what they do not.

namespace syrtos::report {

/// What was asked for, from job.toml. Empty and 0: not known.
struct RunJob {
  std::string network, input, data, precision;
  std::string exchange = "allreduce", sync = "join", wire = "f32", update = "auto";
  int64_t batch = 0, epochs = 0, steps = 0, threads = 0;
  int64_t workers = 1;
  double bucket_mb = 0;
  bool replayed = false;  ///< nothing was computed: losses mean nothing
  /// What these words mean.
  strategy::Options strategy;
  bool strategy_known = true;  ///< false: they mean nothing, and `strategy` is the default

  /// Samples that one worker takes in a step.
  int64_t worker_batch() const { return strategy.sync.worker_samples(batch, workers); }
};

/// A worker that the run went on without.
struct RunLost {
  int rank = 0;
  std::string host;
  int64_t step = 0;  ///< that worker 0 had taken

  std::string text() const;  ///< "rank 2 on c was lost at step 8"
};

/// parts.json: what one process trained of a run that went on.
struct RunPart {
  int64_t first_step = 0, last_step = 0;
  int64_t workers = 1;
  std::string exchange, sync, wire, update;
  double begun = 0, ended = 0;  ///< seconds since 1970
  std::vector<RunLost> lost;

  bool same_team(const RunPart& other) const;
};

/// A line of metrics.jsonl.
struct RunEpoch {
  int64_t epoch = 0, step = 0, samples = 0;
  double train_loss = 0, train_accuracy = 0;
  std::optional<double> test_loss, test_accuracy;
  double learning_rate = 0, images_per_s = 0;
  double queue = 0, helped = 0;
  trace::StepDivision seconds;
};

/// A line of curve.csv: means over the samples since the line before.
struct RunPoint {
  int64_t step = 0;
  double loss = 0, accuracy = 0, images_per_s = 0;
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

/// operators.json: rank 0, item by item.
struct OperatorItem {
  std::string layer, operation, kernel, phase;
  int64_t calls = 0;
  double seconds = 0;  ///< of all calls, as flops and bytes
  double flops = 0, bytes = 0;
};
struct OperatorProfile {
  std::string network, precision;
  int64_t batch = 0, threads = 0;
  double peak_gflops = 0, memory_gb_s = 0;  ///< of the machine; 0: not known
  std::vector<OperatorItem> items;
};

/// exchange.json. Buckets: of rank 0, means over steps, seconds since the start of the step.
struct BucketTimes {
  std::string first_layer, last_layer;
  double bytes = 0;
  double ready_s = 0, arrived_s = 0, exposed_s = 0;
};
struct ExchangeProfile {
  int64_t workers = 0;
  std::string exchange, sync, wire;
  std::vector<BucketTimes> buckets;
  double bytes_sent = 0, bytes_received = 0, messages = 0;  ///< of all ranks, in all
  std::map<int64_t, int64_t> staleness;  ///< updates between pull and push -> how often
  double clock_error_s = 0;
  double measuring_share = 0;  ///< of the time; 0: not known
  double planned_step_s = 0;   ///< what --auto expected; 0: there was no plan
};

struct RunHost {
  std::string name = {};
  std::vector<trace::HostSample> samples = {};
};

/// progress.json: how far a run is that still goes on.
struct RunProgress {
  int64_t step = 0, steps = 0, epoch = 0, epochs = 0;
  double loss = 0, accuracy = 0, images_per_s = 0;
  double time = 0;    ///< seconds since 1970, when it was written
  std::string state;  ///< "training", "complete", "interrupted", "failed", ...
  std::string message;
};

struct Run {
  std::filesystem::path path;
  RunJob job;
  std::vector<RunPart> parts;  ///< in order; more than one: it went on
  std::vector<RunLost> lost;   ///< in the last one
  std::vector<RunEpoch> epochs;
  std::vector<RunPoint> points;
  std::vector<RunRank> ranks;  ///< by rank
  std::optional<OperatorProfile> operators;
  std::optional<ExchangeProfile> exchange;
  std::vector<RunHost> hosts;
  std::optional<trace::TraceContents> trace;
  std::optional<RunProgress> progress;
  std::vector<std::string> notes;  ///< what is missing or damaged, and what was done about it

  std::string name() const;
  /// It did all that was asked for, as far as the metrics say.
  bool complete() const;
  int64_t samples_per_step() const;  ///< of all workers; 0: not known
  /// The first step of a process compiles, connects and reads cold files.
  bool begins_part(int64_t step) const;
};

}  // namespace syrtos::report

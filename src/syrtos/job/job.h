#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/data/dataset.h"
#include "syrtos/data/open.h"
#include "syrtos/data/pipeline/augment.h"
#include "syrtos/data/pipeline/order.h"
#include "syrtos/data/pipeline/sharding.h"
#include "syrtos/data/pipeline/teacher.h"
#include "syrtos/data/sets/fit.h"
#include "syrtos/graph/placement.h"
#include "syrtos/job/precision.h"
#include "syrtos/job/request.h"
#include "syrtos/job/trace_steps.h"
#include "syrtos/job/views.h"
#include "syrtos/nn/network.h"
#include "syrtos/optim/early_stopping.h"
#include "syrtos/optim/optimizer.h"
#include "syrtos/optim/schedule.h"
#include "syrtos/run/metric.h"
#include "syrtos/strategy/options.h"

namespace syrtos::job {

/// Whom the network imitates, beside what its task says of it.
struct Teaching {
  std::filesystem::path from =
      {};                       ///< A run, an ensemble, a checkpoint, an ONNX file; empty: none.
  bool in_steps = false;        ///< Asked in each step; otherwise once for each sample, beforehand.
  std::string unlabelled = {};  ///< Where samples come from that it alone knows about.
  int64_t synthetic = 0;        ///< Such samples that are made up.
};

/// The data of a job, which several workers of one process may read.
struct JobData {
  std::shared_ptr<const data::Dataset> train;
  std::shared_ptr<const data::Dataset> test;
};

/// Over whose samples batch norm has its statistics.
enum class BatchNorm { local, synchronised };
const char* to_string(BatchNorm batch_norm);
BatchNorm parse_batch_norm(std::string_view name);

/// When a run ends before its last epoch.
struct EarlyStop {
  int patience = 0;  ///< Evaluations without improvement; 0: never.
  const run::Metric* metric = &run::metric("accuracy");
  double min_delta = 0;  ///< The least change that is an improvement.
};
optim::EarlyStopping watch_of(const EarlyStop& early_stop);

/// A training in which nothing is open any more, and the data it is about. Everything is a value of
/// its own type; the texts that people write are in JobRequest. Copies have the data in common.
struct Job {
  nn::Network network;
  Shape image = {};     ///< [channels, height, width].
  nn::Task task = {};   ///< What is learnt.
  int64_t classes = 0;  ///< Outputs: one for each class, value or label.

  std::string data_name = {};  ///< As --data takes it, for people and for whoever opens it again.
  bool random_data = false;
  int64_t random_samples = 0;
  data::OpenOptions open = {};    ///< How the data is read and divided.
  JobData data = {};              ///< `test`: what epochs are measured on.
  data::TargetInfo targets = {};  ///< Of values and labels.
  Teaching teaching = {};
  /// Where `teaching` asks in each step, once somebody has loaded it.
  std::shared_ptr<data::Teacher> teacher = nullptr;
  Shape stored = {};  ///< Of the samples as they are stored; 0x0 pixels: different sizes.
  data::Normalization normalization = {};
  data::Fit fit = data::Fit::exact;  ///< Of samples that do not have the network's size.
  data::Augment augment = {};
  data::Remainder remainder = data::Remainder::short_batch;
  data::Sharding sharding = {};
  data::CacheMode cache = data::CacheMode::automatic;
  int prefetch = 4;  ///< Batches prepared ahead.

  int64_t batch = 64;
  int64_t accumulate = 1;  ///< Micro-batches of a worker in a step.
  int64_t epochs = 1;
  int64_t steps = 0;  ///< Ends the run after so many steps; 0: no limit.
  uint64_t seed = 1;
  int threads = 1;  ///< Of each worker.
  Precision precision = {};
  std::filesystem::path run = {};      ///< Empty: runs/<network>-<date>-<time>.
  std::filesystem::path weights = {};  ///< To start from; empty: they are drawn.
  std::string freeze = {};             ///< Patterns of parameters that stay as they are.
  double clip = 0;                     ///< The largest norm of the gradient; 0: any.
  int64_t checkpoint_every = 0;        ///< Steps; 0: after each epoch only.

  optim::OptimizerOptions optimizer = {};
  double weight_decay = 0;
  int64_t lookahead = 0;          ///< Steps after which slow and fast weights meet; 0: none.
  optim::Schedule schedule = {};  ///< Its number of steps is that of a run: see schedule_of().

  Views views = Views::none;
  int64_t evaluate_every = 1;  ///< Epochs; the last one is always evaluated; 0: none is.
  EarlyStop early_stop = {};

  int workers = 1;
  strategy::Options strategy = {};
  int min_workers = 1;  ///< That must be left when others are lost.
  /// With --split: where the network is cut, what of it each part has, in words, and how many
  /// micro-batches are on their way from each on.
  graph::Placement placement = {};
  std::string parts_text = {};
  std::vector<int> ahead = {1};
  int network_patience = 10;  ///< Seconds that the network may be cut without any loss.
  bool encrypted = true;      ///< What crosses between hosts.
  BatchNorm batch_norm = BatchNorm::local;
  std::filesystem::path replay = {};  ///< Computing times that are slept; empty: it is computed.

  TraceSteps trace = {};      ///< That are recorded event by event.
  double sample_seconds = 1;  ///< Between two readings of the hosts; 0: none.

  std::vector<std::string> notes = {};  ///< What people should know before it starts.

  nn::ModelOptions model_options(int64_t batch) const;
  bool synchronises_batch_norm() const { return batch_norm == BatchNorm::synchronised; }
  /// Workers exchange something within a pass, so that each needs samples in every step: the
  /// option that asks for it; empty: they do not.
  std::string_view exchanges_within_pass() const;
  /// The workers that are left can go on as another team when one is lost.
  bool may_lose_workers() const { return wants_to_survive() && needs_all_workers().empty(); }
  bool wants_to_survive() const { return min_workers < workers && strategy.can_go_back(); }
  /// Why a team of fewer could not take its steps, wherever it begins; empty: it could.
  std::string needs_all_workers() const;
  /// The schedule of a run that has so many steps.
  optim::Schedule schedule_of(int64_t total_steps) const;
  /// Whole copies of the network that the workers have, and which of them this one has a part of.
  int replicas() const { return strategy.replicas(workers); }
  int replica_of(int worker) const { return worker / strategy.split.parts; }
  int part_of(int worker) const { return worker % strategy.split.parts; }
  /// Which samples of an epoch it takes: parts of one replica the same.
  data::Shard shard_of(int worker) const { return {replica_of(worker), replicas()}; }
  /// Samples of all workers in a step.
  int64_t step_samples() const;
  int64_t steps_per_epoch() const;
  /// Of a run that begins anew.
  int64_t total_steps() const;
  /// What epochs are measured on: "test" or "validation" data.
  const char* measured_word() const { return open.validation > 0 ? "validation" : "test"; }
  /// Of the classes, values or labels.
  std::vector<std::string> output_names() const;
  /// What people call a sample: "image", or "sample" of signals and tables.
  const char* sample_word() const;
  /// Samples that one worker takes in a step, and in the last step of an epoch when that one is
  /// shorter (otherwise 0).
  int64_t share(int worker) const;
  int64_t short_share(int worker) const;
  /// Samples that one worker computes at once: its share, or a part of it with --accumulate.
  int64_t micro_batch(int worker) const;
};

/// The request that resolves to this job: what a run records and --resume reads.
JobRequest to_request(const Job& job);

/// Puts a way of distributing the work, as a plan finds it, into the request: all of it.
void apply(const strategy::Options& way, int workers, JobRequest& request);

}  // namespace syrtos::job

#pragma once

#include <limits>
#include <map>
#include <string>

#include "syrtos/graph/parameters.h"
#include "syrtos/job/job.h"
#include "syrtos/run/directory.h"
#include "syrtos/train/checkpoint/checkpoint.h"
#include "syrtos/train/checkpoint/run_tensors.h"
#include "syrtos/train/checkpoint/spool.h"

namespace syrtos::train {

using job::Job;

/// Where a run is: everything that it needs to go on with the same bits.
struct Position {
  int64_t step = 0;     ///< steps done
  int64_t updates = 0;  ///< that what the optimiser keeps has seen: more where workers take turns
  int64_t epoch = 0;    ///< epochs done
  int64_t used = 0;     ///< samples of the current epoch that were used, by all workers
  double loss_sum = 0;  ///< over the samples of the current epoch, as the next two
  double score_sum = 0;
  int64_t samples = 0;
  bool unmeasured = false;  ///< the epoch, or the run, is at its end but was not evaluated yet
  double best = std::numeric_limits<double>::quiet_NaN();  ///< of the early-stopping metric
  int waited = 0;                                          ///< epochs since
  double rate = 0;  ///< learning rate that an observer wanted in place of the job's; 0: none did
};

/// What a checkpoint says about the network it holds: enough to build it again where the network
/// that it refers to is known.
struct NetworkDescription {
  nn::NetworkReference network;
  nn::ModelOptions options;  ///< the batch is the reader's choice, the dtype what it was trained in
  std::string data;          ///< what it was trained on, as --data takes it
  data::OpenOptions open;    ///< how that is read and divided
  int64_t seed = 1;
  int64_t random_samples = 1;  ///< of random training data
  data::Normalization normalization;
  data::Fit fit = data::Fit::exact;
  std::vector<std::string> class_names;
  data::TargetInfo targets;  ///< of values and labels
};

/// Writes the job, parameters, states, what is kept with them and the position, all in plain
/// layout, as the run's last checkpoint; that of until now becomes the previous one. `others`: what
/// other workers have of the network. Throws RunError.
void save_snapshot(const run::Directory& directory, const Job& job, const RunTensors& own,
                   const Spool& others, const Position& position);

/// The same in memory, for other processes' teams: position, and tensors in plain layout by name.
struct Snapshot {
  Position position;
  std::map<std::string, Tensor> tensors;
};
Snapshot copy_snapshot(const RunTensors& own, const Position& position);
/// The opposite, into a network that was made from the same job.
void restore_snapshot(const Snapshot& snapshot, RunTensors& own);

/// The opposite of save_snapshot(), for what this worker has. Throws RequestError when the
/// checkpoint is of another network or optimizer.
Position load_snapshot(CheckpointReader& checkpoint, RunTensors& own);

/// Parameters and states only, for evaluation. What the checkpoint has beyond them is ignored.
void load_parameters(CheckpointReader& checkpoint, graph::Parameters& parameters);

/// The tensors of a checkpoint, each of which has to be there.
class CheckpointTensors final : public TensorSource {
 public:
  explicit CheckpointTensors(const std::filesystem::path& file) : reader_(file) {}
  std::optional<Tensor> find(const NamedShape& what) override;

 private:
  CheckpointReader reader_;
};

NetworkDescription describe(const CheckpointReader& checkpoint);

}  // namespace syrtos::train

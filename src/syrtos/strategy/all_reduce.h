#pragma once

#include <memory>
#include <vector>

#include "syrtos/collective/bytes.h"
#include "syrtos/collective/collective.h"
#include "syrtos/strategy/arrivals.h"
#include "syrtos/strategy/pass.h"
#include "syrtos/strategy/strategy.h"
#include "syrtos/strategy/undo.h"
#include "syrtos/strategy/wire.h"

namespace syrtos::strategy {

/// Synchronous training by all-reduce (--sync join and split).
///
///   for each stage of the pass:
///     wait until the weights it needs have arrived
///     compute it
///     for each bucket whose gradient is final now, start bring(bucket)
///
///   bring(bucket):
///     sum the gradient over all workers
///     when the pass is over, which still reads the weights: update the bucket's weights
///
/// So a bucket crosses while the pass goes on, and the next pass starts while the last buckets
/// cross. Buckets that the next pass needs first have priority on the wire. With --clip the update
/// needs the norm of the whole gradient and waits for all buckets.
///
/// With --split columns some buckets are divided between the workers: each updates its part alone,
/// and what crosses are the activations between stages (columns.h). Other parts are old until
/// agree() brings them.
///
/// Where a network is in parts (--split layers:N and the like), all of this is among the workers
/// that have the same part; between those that have one copy of the network together activations
/// and their gradients cross (part_messages.h).
///
/// Messages and bytes: for each bucket those of the all-reduce algorithm (collective/*.h); with
/// ring each worker sends 2 (N - 1) / N of the gradient in 2 (N - 1) messages per bucket. With
/// --wire threshold each worker sends what is above it to all others: 4 bytes an element.
class AllReduceTraining final : public Strategy {
 public:
  AllReduceTraining(World& world, const Team& team, const Options& options, Replica& replica);

  Task<> begin() override;
  Task<int64_t> step(const StepInfo& info) override;
  Task<> settle() override;
  Task<> agree() override;
  Task<> collect() override;
  Task<> end() override;
  Task<std::optional<int64_t>> go_back() override;
  int64_t copied() const override { return undo_.copied(); }

 private:
  /// The elements that this worker keeps of a bucket that is divided.
  std::vector<collective::Range> own_parts(const Bucket& bucket) const;
  Task<> update_parts(const Bucket& bucket, const StepInfo& info);
  Task<> bring(int bucket, StepInfo info);
  Task<> sum(int bucket, const StepInfo& info);
  Task<> sum_sparse(int bucket, const StepInfo& info);
  Task<> update_clipped(StepInfo info);
  Task<double> norm_of_all_parts();

  World& world_;
  const Options options_;
  Replica& replica_;
  const collective::Group group_;          // who has the same part
  const collective::Group replica_group_;  // who has the network together
  std::vector<std::unique_ptr<collective::PreparedAllReduce>> sums_;  // of each bucket
  BlockRunners blocks_;
  PartMessages messages_;
  uint32_t agreed_ = 0;            // times
  uint32_t clipped_ = 0;           // times
  std::vector<Residue> residues_;  // with a threshold
  int64_t passes_ = 0;             // begun
  int64_t passed_ = 0;             // over
  world::Condition over_;          // a pass is
  Undo undo_;
  Arrivals arrivals_;  // goes first: it uses the others
};

/// One for each bucket of an arena: its sum over all workers. None for a worker alone.
std::vector<std::unique_ptr<collective::PreparedAllReduce>> prepare_sums(
    World& world, const collective::Group& group, const Options& options, const Layout& layout,
    const Floats& arena);

/// Copies of rank 0's weights, statistics and what its optimiser keeps go to all workers.
Task<> broadcast_replica(World& world, const collective::Group& group, Replica& replica);

}  // namespace syrtos::strategy

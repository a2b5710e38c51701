#pragma once

#include <memory>
#include <vector>

#include "syrtos/collective/collective.h"
#include "syrtos/strategy/arrivals.h"
#include "syrtos/strategy/strategy.h"
#include "syrtos/strategy/undo.h"

namespace syrtos::strategy {

/// Workers train alone and average their weights every H steps (--sync local:H).
///
///   for each stage of the pass: wait for its weights, compute it
///   update all weights from the own gradient
///   after every H-th step, for each bucket: sum the weights over all workers, divide by N
///
/// The averages cross while the next pass starts, layer by layer. What the optimiser keeps stays
/// each worker's own. When others are lost, a worker goes back to the last average that all had.
///
/// Messages and bytes: those of an all-reduce of all weights, every H steps.
class LocalSteps final : public Strategy {
 public:
  LocalSteps(World& world, const Team& team, const Options& options, Replica& replica);

  Task<> begin() override;
  Task<int64_t> step(const StepInfo& info) override;
  Task<> settle() override { return arrivals_.all(); }
  Task<> agree() override;
  Task<> collect() override;
  Task<> end() override;
  Task<std::optional<int64_t>> go_back() override;
  int64_t copied() const override { return undo_.copied(); }

 private:
  Task<> update(const StepInfo& info);
  Task<> average(int bucket);
  void start_averaging();

  World& world_;
  const Options options_;
  Replica& replica_;
  const collective::Group group_;
  std::vector<std::unique_ptr<collective::PreparedAllReduce>> sums_;  // of each bucket
  Undo undo_;                                                         // to the last average
  Arrivals arrivals_;  // goes before the sums, which it uses
  int64_t since_ = 0;  // steps since the last average
  uint32_t averages_ = 0;
};

}  // namespace syrtos::strategy

#pragma once

#include "syrtos/collective/collective.h"
#include "syrtos/strategy/strategy.h"

namespace syrtos::strategy {

/// Workers that are threads of one process train the same weights without locks (--exchange shared;
/// Hogwild, Niu et al. 2011).
///
///   compute the pass with the weights as they are, while others change them
///   update the weights at once from the own gradient, while others read and update them
///
/// Two updates at the same time can lose each other's change of an element, and a pass can see some
/// layers older than others: with small steps that is a little more noise in the gradient. What the
/// optimiser keeps is shared in the same way. Running statistics are each worker's own.
///
/// Messages and bytes: none, but the running statistics at the beginning.
class SharedTraining final : public Strategy {
 public:
  /// The weights of all replicas are in the same memory.
  SharedTraining(World& world, const Team& team, Replica& replica);

  Task<> begin() override;
  Task<int64_t> step(const StepInfo& info) override;
  Task<> settle() override;
  Task<> agree() override;
  Task<> collect() override;
  Task<> end() override;

  /// Updates of others since this worker's pass began -> its updates.
  std::map<int64_t, int64_t> staleness() const override { return staleness_; }
  int64_t updates() const override { return updates_before_ + replica_.updates(); }

 private:
  void update_shared_weights(StepInfo info);

  World& world_;
  Replica& replica_;
  const collective::Group group_;
  int64_t seen_ = 0;            // updates when the pass began
  int64_t updates_before_ = 0;  // that the optimiser had seen, before this process
  bool begun_ = false;
  std::map<int64_t, int64_t> staleness_;
};

}  // namespace syrtos::strategy

#pragma once

// Parts of a training that are slow on purpose.

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "syrtos/data/dataset.h"
#include "syrtos/ops/cpu/backend.h"

namespace syrtos::train {

/// Samples that take a while.
class SlowData final : public data::Dataset {
 public:
  SlowData(std::shared_ptr<const data::Dataset> inner, std::chrono::milliseconds pause)
      : inner_(std::move(inner)), pause_(pause) {
    info_ = inner_->info();
  }
  data::Target target(int64_t index) const override { return inner_->target(index); }
  data::Sample read(int64_t index, data::Scratch& scratch) const override {
    std::this_thread::sleep_for(pause_);
    return inner_->read(index, scratch);
  }

 private:
  std::shared_ptr<const data::Dataset> inner_;
  std::chrono::milliseconds pause_;
};

/// The CPU's kernels, but those of one operation do their work over and over: until that has taken
/// several times as long as everything since they did it last, however fast the machine is.
class SlowBackend final : public ops::Backend {
 public:
  explicit SlowBackend(std::string operation) : operation_(std::move(operation)) {}

  std::string name() const override { return inner_->name(); }
  ops::KernelPlan plan(const ops::KernelRequest& request) override {
    ops::KernelPlan plan = inner_->plan(request);
    if (request.op.name() != operation_) return plan;
    plan.in_place.clear();  // what it reads has to be there the next time
    plan.kernel = std::make_unique<SlowKernel>(std::move(plan.kernel), last_);
    return plan;
  }
  ops::KernelPlan reorder(const TensorType& from_type, const ops::Layout& from,
                          const TensorType& to_type, const ops::Layout& to) override {
    return inner_->reorder(from_type, from, to_type, to);
  }

 private:
  using Clock = std::chrono::steady_clock;

  class SlowKernel final : public ops::Kernel {
   public:
    SlowKernel(std::unique_ptr<ops::Kernel> inner, std::shared_ptr<Clock::time_point> last)
        : inner_(std::move(inner)), last_(std::move(last)) {}

    void bind(std::span<void* const> inputs, std::span<void* const> outputs,
              void* scratch) override {
      inner_->bind(inputs, outputs, scratch);
    }
    void run(const ops::Step& step) override {
      const auto begun = Clock::now();
      const bool first = *last_ == Clock::time_point();  // before it the network was built
      const auto rest = first ? Clock::duration::zero() : begun - *last_;
      const auto end = begun + std::max<Clock::duration>(std::chrono::milliseconds(20), 5 * rest);
      do inner_->run(step);
      while (Clock::now() < end);
      *last_ = Clock::now();
    }
    std::string implementation() const override { return inner_->implementation(); }

   private:
    std::unique_ptr<ops::Kernel> inner_;
    std::shared_ptr<Clock::time_point> last_;
  };

  const std::string operation_;
  std::unique_ptr<ops::Backend> inner_ = ops::cpu::make_backend();
  std::shared_ptr<Clock::time_point> last_ = std::make_shared<Clock::time_point>();
};

}  // namespace syrtos::train

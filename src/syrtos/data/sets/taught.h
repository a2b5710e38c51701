#pragma once

#include <memory>
#include <vector>

#include "syrtos/data/dataset.h"

// Data that a teacher knows more about than its labels say.

namespace syrtos::data {

/// Samples with labels and, behind them, others whose labels nobody knows or wants: all of these
/// have a label below 0. Both must have samples of the same shape and type. Throws RequestError.
class WithUnlabelled : public Dataset {
 public:
  WithUnlabelled(std::shared_ptr<const Dataset> labelled,
                 std::shared_ptr<const Dataset> unlabelled);

  Target target(int64_t index) const override;
  Sample read(int64_t index, Scratch& scratch) const override;
  std::span<const uint8_t> encoded(int64_t index, Scratch& scratch) const override;
  void check() const override;

 private:
  std::shared_ptr<const Dataset> labelled_;
  std::shared_ptr<const Dataset> unlabelled_;
};

/// A data set with what a teacher says of its classes: of each sample as many probabilities.
class Answered : public Dataset {
 public:
  Answered(std::shared_ptr<const Dataset> of, std::vector<float> answers);

  Target target(int64_t index) const override { return with_answer(of_->target(index), index); }
  Sample read(int64_t index, Scratch& scratch) const override;
  std::span<const uint8_t> encoded(int64_t index, Scratch& scratch) const override {
    return of_->encoded(index, scratch);
  }
  void check() const override { of_->check(); }

 private:
  Target with_answer(Target target, int64_t index) const;

  std::shared_ptr<const Dataset> of_;
  std::vector<float> answers_;
  size_t each_;
};

}  // namespace syrtos::data

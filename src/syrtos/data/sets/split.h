#pragma once

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// A choice of another data set's samples, which are read from there.
class Subset : public Dataset {
 public:
  Subset(std::shared_ptr<const Dataset> whole, std::vector<int64_t> indices);

  Target target(int64_t index) const override { return whole_->target(at(index)); }
  Sample read(int64_t index, Scratch& scratch) const override {
    return whole_->read(at(index), scratch);
  }
  std::span<const uint8_t> encoded(int64_t index, Scratch& scratch) const override {
    return whole_->encoded(at(index), scratch);
  }
  void check() const override { whole_->check(); }

 private:
  int64_t at(int64_t index) const { return indices_[static_cast<size_t>(index)]; }

  std::shared_ptr<const Dataset> whole_;
  std::vector<int64_t> indices_;
};

/// For data that comes without a test set: of each class (of data without classes: of all), in the
/// order of the data set, every tenth sample (the 10th, the 20th, ...) is for testing. So the same
/// files are always split alike. Throws RequestError when nothing would be left to test with.
Splits split_every_tenth(std::shared_ptr<const Dataset> whole);

/// Keeps that share of the samples back to measure with, of each class by itself, chosen at random
/// as the seed says: the same samples on every machine. A class of two or more has at least one on
/// either side; one of a single sample is trained on. Throws RequestError when a side would have
/// none.
Splits split_share(std::shared_ptr<const Dataset> whole, double share, uint64_t seed);

/// "0", "1", ...: the names of classes that have none.
std::vector<std::string> numbered_classes(int64_t count);

}  // namespace syrtos::data

#pragma once

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// A choice of another data set's samples, which are read from there.
class Subset : public Dataset {
 public:
  Subset(std::shared_ptr<const Dataset> whole, std::vector<int64_t> indices);

  int32_t label(int64_t index) const override { return whole_->label(at(index)); }
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

/// For data that comes without a test set: of each class, in the order of the data set, every tenth
/// sample (the 10th, the 20th, ...) is for testing. So the same files are always split alike.
/// Throws RequestError when nothing would be left to test with.
Splits split_every_tenth(std::shared_ptr<const Dataset> whole);

/// "0", "1", ...: the names of classes that have none.
std::vector<std::string> numbered_classes(int64_t count);

}  // namespace syrtos::data

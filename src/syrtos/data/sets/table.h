#pragma once

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// Samples of one size in memory, one after the other: what small files are decoded into.
class Table : public Dataset {
 public:
  /// `values` holds info.size samples of info.dtype, `labels` one number below info.classes.size()
  /// for each: the caller has checked the file they come from.
  Table(DatasetInfo info, std::vector<uint8_t> values, std::vector<int32_t> labels);

  int32_t label(int64_t index) const override { return labels_[static_cast<size_t>(index)]; }
  Sample read(int64_t index, Scratch& scratch) const override;

 private:
  std::vector<uint8_t> values_;
  std::vector<int32_t> labels_;
};

}  // namespace syrtos::data

#pragma once

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// Samples of one size in memory, one after the other: what small files are decoded into.
class Table : public Dataset {
 public:
  /// `values` holds info.size samples of info.dtype, `targets` one for each:
  /// the caller has checked the file they come from.
  Table(DatasetInfo info, std::vector<uint8_t> values, Targets targets);

  Target target(int64_t index) const override { return targets_[index]; }
  Sample read(int64_t index, Scratch& scratch) const override;

 private:
  std::vector<uint8_t> values_;
  Targets targets_;
};

}  // namespace syrtos::data

#pragma once

#include <array>
#include <memory>

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// Samples in memory of somebody else, wherever each value of a sample lies.
struct ArrayView {
  std::shared_ptr<const void> owner;  ///< Keeps the memory; let go of on any thread.
  const std::byte* values = nullptr;
  DType dtype = DType::f32;             ///< u8 or f32.
  int64_t size = 0;                     ///< Samples.
  Shape sample = {};                    ///< [channels, height, width]
  int64_t step = 0;                     ///< Bytes from one sample to the next.
  std::array<int64_t, 3> strides = {};  ///< Bytes along the channels, height and width.
};

/// Copies a sample as the pipeline wants it, [height, width, channels], into memory that grows to
/// it.
void copy_sample(const ArrayView& view, int64_t index, std::vector<uint8_t>& to);

/// A data set of them: nothing is copied but, where channels do not lie last, one sample at a time.
/// The memory must not change while it is read.
class ArrayData : public Dataset {
 public:
  /// `targets` has one for each sample, which the caller has checked; `meaning` says what they are:
  /// its classes or targets count.
  ArrayData(std::string name, ArrayView view, Targets targets, DatasetInfo meaning);

  Target target(int64_t index) const override { return targets_[index]; }
  Sample read(int64_t index, Scratch& scratch) const override;

 private:
  ArrayView view_;
  Targets targets_;
  bool in_order_;  ///< A sample lies as the pipeline wants it.
};

}  // namespace syrtos::data

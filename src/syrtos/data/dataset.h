#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "syrtos/data/pictures/resize.h"
#include "syrtos/data/target.h"
#include "syrtos/tensor/dtype.h"
#include "syrtos/tensor/shape.h"

namespace syrtos::data {

/// One sample as it is stored: channels-last values and what is to be found out about it. The
/// memory belongs to the data set or to the scratch it was read with.
struct Sample {
  const void* values = nullptr;  ///< [height, width, channels]
  DType dtype = DType::u8;       ///< u8 (pictures) or f32 (signals)
  int64_t channels = 0;
  int64_t height = 0;  ///< 1 for signals
  int64_t width = 0;
  Target target = {};

  int64_t elements() const { return channels * height * width; }
  const uint8_t* bytes() const { return static_cast<const uint8_t*>(values); }
  const float* floats() const { return static_cast<const float*>(values); }
};

/// Memory that a reader uses over and over: after the largest sample nothing is allocated.
struct Scratch {
  std::vector<uint8_t> file;      ///< encoded bytes
  std::vector<uint8_t> values;    ///< decoded ones
  std::vector<uint8_t> arranged;  ///< moved and mirrored on their way to a batch
  std::vector<uint8_t> scaled;    ///< pictures brought to another size
  std::vector<uint8_t> warped;    ///< turned and scaled ones
  std::vector<uint8_t> other;     ///< what a sample is mixed with, as in a batch
  std::vector<float> targets;     ///< of that
  std::vector<float> columns;     ///< of a table whose columns are put in another order
  ResizeScratch resize;
};

/// What is known about a data set without reading a sample.
struct DatasetInfo {
  std::string name = {};  ///< "cifar10", or the path it was read from
  int64_t size = 0;
  DType dtype = DType::u8;
  int64_t channels = 0;
  int64_t height = 0;  ///< 0 when samples differ in size, as width
  int64_t width = 0;
  std::vector<std::string> classes = {};  ///< names; label k means classes[k]; none: see targets
  TargetInfo targets = {};                ///< values that samples have instead of classes
  std::vector<std::string> columns = {};  ///< names of a table's columns without labels, or none
  std::vector<std::string> label_columns = {};  ///< of a table: those with labels or values
  bool asks_samples = false;  ///< targets are known only when samples are read, which takes work
  bool numbers = false;       ///< values are numbers of classes, such as characters
  bool decodes = false;       ///< reading a sample takes work that is worth keeping
  std::vector<std::string> notes = {};  ///< what reading it had to decide, for people

  bool same_size() const { return height > 0 && width > 0; }
  /// Rows of a few numbers that mean different things, such as age and income, unlike the values of
  /// a signal: each column is normalised by itself.
  bool is_table() const {
    return dtype == DType::f32 && channels == 1 && height == 1 && width > 0 && width <= 50;
  }
  /// [channels, height, width]
  Shape shape() const { return {channels, height, width}; }
};

/// Samples that can be read in any order. All calls are thread-safe.
class Dataset {
 public:
  virtual ~Dataset() = default;

  const DatasetInfo& info() const { return info_; }
  int64_t size() const { return info_.size; }
  virtual Target target(int64_t index) const = 0;
  /// Of data with classes.
  int32_t label(int64_t index) const { return target(index).label; }
  /// 0 <= index < size(). The result is valid until `scratch` is used again. Throws RunError that
  /// names file, offset, expected and found when a sample turns out to be damaged or gone.
  virtual Sample read(int64_t index, Scratch& scratch) const = 0;
  /// The picture file of a sample as it is stored (JPEG, PNG or PNM); empty when it is not one.
  /// Valid as long as what read() returns.
  virtual std::span<const uint8_t> encoded(int64_t /*index*/, Scratch& /*scratch*/) const {
    return {};
  }
  /// To be called after the values of samples were used: throws RunError when they were not what
  /// the file held, because it was cut meanwhile. Costs less than a microsecond.
  virtual void check() const {}

 protected:
  DatasetInfo info_;
};

/// Values become (value - mean) / deviation before they reach the network. For u8 samples both are
/// in units of 0..255. One number per channel, or for tables per column; a single one stands for
/// all.
struct Normalization {
  std::vector<float> mean;
  std::vector<float> deviation;
};

/// A data set to learn from and one to measure with. They share classes.
struct Splits {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> test = nullptr;        ///< nullptr: it comes without one
  std::unique_ptr<Dataset> validation = nullptr;  ///< to measure with while training; nullptr: test
};

}  // namespace syrtos::data

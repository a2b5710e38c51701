#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <optional>
#include <string>

#include "syrtos/data/dataset.h"
#include "syrtos/data/formats/number_targets.h"
#include "syrtos/job/job.h"

namespace syrtos::python {

using AnyArray = nanobind::ndarray<nanobind::ro, nanobind::device::cpu>;
/// [samples, values of each]: labels are values too.
using Values =
    nanobind::ndarray<const float, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

/// Samples of the caller's memory.
struct Data {
  std::shared_ptr<const data::Dataset> set;
};

/// What the numbers beside samples mean, found out from those to train on.
class Meaning {
 public:
  /// `shape`: of the values of a sample; `kind`: "auto", "classes" or "values".
  Meaning(const std::string& name, const Values& values, const std::vector<int64_t>& shape,
          const std::string& kind);

  int64_t classes() const { return static_cast<int64_t>(info_.classes.size()); }
  /// Notes, classes and targets.
  const data::DatasetInfo& info() const { return info_; }
  data::Targets read(const std::string& name, const Values& values) const;

 private:
  std::vector<int64_t> shape_;
  data::NumberTargets targets_;
  data::DatasetInfo info_;
};

/// `values` is [samples, channels, height, width] of u8 or f32 with any strides; nothing is copied,
/// and they live as long as the data does. `targets` and their meaning: none: nothing is known.
Data array_data(const std::string& name, const AnyArray& values,
                const std::optional<Values>& targets, const Meaning* meaning);

/// Samples to train on and to test with; nullptr: it is for the library to divide them.
job::JobData job_data(const Data& train, const Data* test);

/// An array of Python's that owns the values.
nanobind::ndarray<nanobind::numpy, float> to_array(std::vector<float> values,
                                                   std::vector<size_t> shape);

}  // namespace syrtos::python

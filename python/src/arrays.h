#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <string>

#include "syrtos/data/dataset.h"
#include "syrtos/job/job.h"

namespace syrtos::python {

using AnyArray = nanobind::ndarray<nanobind::ro, nanobind::device::cpu>;
using Labels =
    nanobind::ndarray<const int32_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

/// Samples of the caller's memory.
struct Data {
  std::shared_ptr<const data::Dataset> set;
};

/// `values` is [samples, channels, height, width] of u8 or f32 with any strides; nothing is copied,
/// and they live as long as the data does. Labels are below `classes`.
Data array_data(const std::string& name, const AnyArray& values, const Labels& labels,
                int64_t classes);

/// Samples to train on and to test with; without a test set every tenth of each class is kept back.
job::JobData job_data(const Data& train, const Data* test);

/// To train on and to test with: every tenth sample, whatever its class, is kept back.
std::pair<Data, Data> every_tenth(const Data& whole);

/// An array of Python's that owns the values.
nanobind::ndarray<nanobind::numpy, float> to_array(std::vector<float> values,
                                                   std::vector<size_t> shape);

}  // namespace syrtos::python

#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "arrays.h"

namespace syrtos::python {

/// Samples that a Python function reads: read(index) gives an array [channels, height, width] of
/// this type (u8 or f32) and a label below `classes` or, where that is 0, an array of values in
/// `shape`, as its Python part has checked. It is called by the threads that prepare batches, one
/// at a time; what it raises ends the run as a RunError.
Data item_data(const std::string& name, int64_t size, const std::vector<int64_t>& sample,
               bool is_bytes, int64_t classes, const std::vector<int64_t>& shape,
               const nanobind::object& read);

}  // namespace syrtos::python

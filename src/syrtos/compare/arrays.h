#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "syrtos/ops/op.h"

namespace syrtos::compare {

/// What both sides compute in.
enum class Precision { f32, f64 };

const char* to_string(Precision precision);

/// Tensors by name, in doubles whatever they were computed in.
using Arrays = std::map<std::string, ops::RefTensor>;

/// Writes NumPy's .npz; numbers are rounded to the precision. Throws RunError.
void write_npz(const std::filesystem::path& file, const Arrays& arrays, Precision precision);

/// Reads floats and integers of any usual width. Throws RunError that says what is wrong with the
/// file.
Arrays read_npz(const std::filesystem::path& file);

/// How far two tensors of one shape are apart.
struct Distance {
  double absolute = 0;  ///< The largest difference; infinite where one is not finite.
  double scale = 0;     ///< The largest value of the first.
};
Distance distance(const ops::RefTensor& a, const ops::RefTensor& b);

/// The tensor that differs most of all: |a - b| over the largest |a| of the tensor, which counts at
/// least as a thousandth of the largest of all tensors (gradients that cancel out are noise).
struct LargestDifference {
  double relative = 0;
  std::string name;  ///< Empty when all are equal.
};
LargestDifference largest_difference(const Arrays& ours, const Arrays& theirs);

}  // namespace syrtos::compare

#include "syrtos/ops/binary.h"

#include <algorithm>
#include <cmath>

#include "syrtos/ops/reference/index.h"

namespace syrtos::ops {

namespace {

/// The element of a broadcast operand that belongs to an index of the result.
double at(const RefTensor& operand, const Shape& index) {
  Shape own = operand.shape;
  for (int axis = 0; axis < own.rank(); ++axis) {
    const int64_t position = index[axis - own.rank() + index.rank()];
    own[axis] = operand.shape[axis] == 1 ? 0 : position;
  }
  return operand[position_of(operand.shape, own)];
}

double value_of(BinaryKind kind, double a, double b) {
  switch (kind) {
    case BinaryKind::add:
      return a + b;
    case BinaryKind::subtract:
      return a - b;
    case BinaryKind::multiply:
      return a * b;
    case BinaryKind::divide:
      return a / b;
    case BinaryKind::power:
      return std::pow(a, b);
    case BinaryKind::minimum:
      return std::min(a, b);
    case BinaryKind::maximum:
      return std::max(a, b);
    case BinaryKind::prelu:
      return a < 0 ? a * b : a;
    case BinaryKind::equal:
      return a == b ? 1 : 0;
  }
  return 0;
}

/// Which share of the gradient the smaller (or larger) of two numbers gets.
double share(double mine, double other, bool smaller) {
  return mine == other ? 0.5 : (mine < other) == smaller ? 1 : 0;
}

double slope_of(BinaryKind kind, bool second, double a, double b) {
  switch (kind) {
    case BinaryKind::divide:
      return second ? -a / (b * b) : 1 / b;
    case BinaryKind::power:
      return second ? std::pow(a, b) * std::log(a) : b * std::pow(a, b - 1);
    case BinaryKind::minimum:
      return second ? share(b, a, true) : share(a, b, true);
    case BinaryKind::maximum:
      return second ? share(b, a, false) : share(a, b, false);
    case BinaryKind::prelu:
      if (a < 0) return second ? a : b;
      return second ? 0 : 1;
    default:
      return 0;
  }
}

}  // namespace

// dst = a ? b
void Binary::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                       const Step& /*step*/) const {
  for_each_index(outputs[0].shape, [&](const Shape& index, int64_t i) {
    outputs[0][i] = value_of(kind, at(inputs[0], index), at(inputs[1], index));
  });
}

// the derivative of a ? b with respect to one of them, times diff_dst
void BinaryBackward::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                               const Step& /*step*/) const {
  for_each_index(outputs[0].shape, [&](const Shape& index, int64_t i) {
    outputs[0][i] =
        slope_of(kind, second, at(inputs[0], index), at(inputs[1], index)) * inputs[2][i];
  });
}

}  // namespace syrtos::ops

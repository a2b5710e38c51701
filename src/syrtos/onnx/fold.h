#pragma once

#include <functional>
#include <vector>

#include "syrtos/onnx/importer.h"

// Computing with numbers that are known: what exporters leave of shapes, limits and constants.

namespace syrtos::onnx {

/// Elements of a shape. Throws RequestError when there are more than constants may have.
int64_t elements_of(const Call& call, const std::vector<int64_t>& shape);
std::vector<int64_t> strides_of(const std::vector<int64_t>& shape);
/// Calls `visit` with the coordinates of each element of a shape, in row-major order.
void each_index(const std::vector<int64_t>& shape,
                const std::function<void(const std::vector<int64_t>&)>& visit);
/// Some of the values in another order: picks[i] is where element i comes from.
Array picked(const Array& from, std::vector<int64_t> shape, const std::vector<size_t>& picks);
std::vector<int64_t> broadcast_shape(const Call& call, const std::vector<int64_t>& a,
                                     const std::vector<int64_t>& b);
/// Repeated to a shape that its own broadcasts to.
Array expanded(const Array& from, const std::vector<int64_t>& shape);

const Rules& number_folds();  ///< Arithmetic, comparisons, functions, constants.
const Rules& shape_folds();   ///< What asks for shapes or moves numbers.

}  // namespace syrtos::onnx

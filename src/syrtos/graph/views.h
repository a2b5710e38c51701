#pragma once

#include <optional>

#include "syrtos/ops/backend.h"

namespace syrtos::graph {

/// How the result of an operation that only renames elements (a reshape or a transposition) lies if
/// it is the bytes of its input as they are; nothing where elements have to move, and for all other
/// operations.
std::optional<ops::Layout> layout_of_view(const ops::Op& op, const TensorType& from,
                                          const ops::Layout& layout, const TensorType& to);

}  // namespace syrtos::graph

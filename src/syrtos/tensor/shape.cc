#include "syrtos/tensor/shape.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "syrtos/base/error.h"

namespace syrtos {

Shape::Shape(std::initializer_list<int64_t> dims)
    : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}

Shape::Shape(std::span<const int64_t> dims) {
  for (const int64_t dim : dims) append(dim);
}

void Shape::append(int64_t extent) {
  SYRTOS_CHECK(rank_ < kMaxRank, "a shape has at most {} axes", kMaxRank);
  dims_[static_cast<size_t>(rank_++)] = extent;
}

int64_t Shape::elements() const { return elements_from(0); }

int64_t Shape::elements_from(int axis) const {
  uint64_t product = 1;  // what overflows is refused elsewhere, not undefined here
  for (int i = axis; i < rank_; ++i) product *= static_cast<uint64_t>((*this)[i]);
  return static_cast<int64_t>(product);
}

bool Shape::operator==(const Shape& other) const {
  return rank_ == other.rank_ && std::equal(begin(), end(), other.begin());
}

std::string to_string(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", "));
}

std::string to_string(const TensorType& type) {
  return std::string(to_string(type.dtype)) + to_string(type.shape);
}

}  // namespace syrtos

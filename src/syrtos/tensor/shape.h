#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "syrtos/tensor/dtype.h"

namespace syrtos {

/// The extents of a tensor, outermost first. Activations are [batch, channels, spatial...], also
/// where memory holds them channels-last: a shape is what the tensor means, not how it lies.
class Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims);
  explicit Shape(std::span<const int64_t> dims);

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return dims_[static_cast<size_t>(axis)]; }
  int64_t& operator[](int axis) { return dims_[static_cast<size_t>(axis)]; }
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }

  /// Number of elements; 1 for rank 0.
  int64_t elements() const;
  /// Product of the extents from `axis` on.
  int64_t elements_from(int axis) const;
  void append(int64_t extent);

  bool operator==(const Shape& other) const;

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

/// "[42, 64, 8, 8]"
std::string to_string(const Shape& shape);

struct TensorType {
  DType dtype = DType::f32;
  Shape shape;

  int64_t bytes() const { return shape.elements() * static_cast<int64_t>(size_of(dtype)); }
  bool operator==(const TensorType&) const = default;
};

/// "f32[42, 64, 8, 8]"
std::string to_string(const TensorType& type);

}  // namespace syrtos

#pragma once

#include <memory>
#include <vector>

#include "syrtos/tensor/buffer.h"
#include "syrtos/tensor/shape.h"

namespace syrtos {

/// A tensor in plain row-major order that owns its memory: what users, files and references see.
/// Inside a Program values live in its arena, in whatever layout its kernels chose.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(TensorType type);
  static Tensor from(Shape shape, const std::vector<float>& values);

  const TensorType& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  DType dtype() const { return type_.dtype; }
  int64_t elements() const { return type_.shape.elements(); }

  void* data() const { return buffer_->data(); }
  template <typename T>
  T* as() const {
    return buffer_->as<T>();
  }

  /// The elements as floats, whatever the type; `set` rounds to the type.
  float get(int64_t index) const;
  void set(int64_t index, float value);
  std::vector<float> to_vector() const;

 private:
  TensorType type_;
  std::shared_ptr<Buffer> buffer_;
};

}  // namespace syrtos

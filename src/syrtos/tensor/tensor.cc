#include "syrtos/tensor/tensor.h"

#include "syrtos/base/error.h"

namespace syrtos {

Tensor::Tensor(TensorType type)
    : type_(type),
      buffer_(std::make_shared<Buffer>(static_cast<size_t>(type.bytes()), "a tensor")) {}

Tensor Tensor::from(Shape shape, const std::vector<float>& values) {
  SYRTOS_CHECK(shape.elements() == static_cast<int64_t>(values.size()), "{} against {} values",
               to_string(shape), values.size());
  Tensor tensor({DType::f32, shape});
  for (size_t i = 0; i < values.size(); ++i) tensor.as<float>()[i] = values[i];
  return tensor;
}

float Tensor::get(int64_t index) const {
  switch (dtype()) {
    case DType::f32:
      return as<float>()[index];
    case DType::bf16:
      return static_cast<float>(as<BFloat16>()[index]);
    case DType::s32:
      return static_cast<float>(as<int32_t>()[index]);
    case DType::u8:
      return static_cast<float>(as<uint8_t>()[index]);
  }
  return 0;
}

void Tensor::set(int64_t index, float value) {
  switch (dtype()) {
    case DType::f32:
      as<float>()[index] = value;
      break;
    case DType::bf16:
      as<BFloat16>()[index] = BFloat16(value);
      break;
    case DType::s32:
      as<int32_t>()[index] = static_cast<int32_t>(value);
      break;
    case DType::u8:
      as<uint8_t>()[index] = static_cast<uint8_t>(value);
      break;
  }
}

std::vector<float> Tensor::to_vector() const {
  std::vector<float> values(static_cast<size_t>(elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = get(static_cast<int64_t>(i));
  return values;
}

}  // namespace syrtos

#include "syrtos/ops/native/losses.h"

#include "syrtos/base/parallel.h"

namespace syrtos::ops::native {

namespace {

constexpr int64_t kSerialBelow = 16384;

float load(DType dtype, const void* data, int64_t i) {
  return dtype == DType::bf16 ? static_cast<float>(static_cast<const BFloat16*>(data)[i])
                              : static_cast<const float*>(data)[i];
}

void store(DType dtype, void* data, int64_t i, float value) {
  if (dtype == DType::bf16) {
    static_cast<BFloat16*>(data)[i] = BFloat16(value);
  } else {
    static_cast<float*>(data)[i] = value;
  }
}

}  // namespace

float cross_entropy(DType dtype, int64_t rows, int64_t classes, float smoothing,
                    const void* log_probabilities, const int32_t* labels) {
  const double everywhere = smoothing / static_cast<double>(classes);
  double loss = 0;
  for (int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    if (smoothing > 0) {
      for (int64_t c = 0; c < classes; ++c)
        sum += load(dtype, log_probabilities, row * classes + c);
    }
    loss -= everywhere * sum +
            (1.0 - smoothing) * load(dtype, log_probabilities, row * classes + labels[row]);
  }
  return static_cast<float>(loss / static_cast<double>(rows));
}

void cross_entropy_backward(DType dtype, int64_t rows, int64_t classes, float smoothing,
                            const int32_t* labels, float factor, void* diff) {
  const float everywhere = smoothing / static_cast<float>(classes);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < classes; ++c) {
      const float target = everywhere + (c == labels[row] ? 1.0F - smoothing : 0.0F);
      store(dtype, diff, row * classes + c, -target * factor);
    }
  }
}

double half_squared_error(DType dtype, int64_t n, const void* prediction, const void* target) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double difference = load(dtype, prediction, i) - load(dtype, target, i);
    sum += difference * difference;
  }
  return sum / 2;
}

void half_squared_error_backward(DType dtype, int64_t n, const void* prediction, const void* target,
                                 float factor, void* diff) {
  parallel_for(n, 64, kSerialBelow, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      store(dtype, diff, i, (load(dtype, prediction, i) - load(dtype, target, i)) * factor);
    }
  });
}

}  // namespace syrtos::ops::native

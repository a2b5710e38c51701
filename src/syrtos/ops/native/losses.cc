#include "syrtos/ops/native/losses.h"

#include <algorithm>
#include <cmath>

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

float value_of(ElementLoss loss, float delta, float prediction, float target) {
  const float distance = std::fabs(prediction - target);
  switch (loss) {
    case ElementLoss::absolute:
      return distance;
    case ElementLoss::huber:
      return distance <= delta ? 0.5F * distance * distance : delta * (distance - 0.5F * delta);
    case ElementLoss::binary_cross_entropy:
      return std::max(prediction, 0.0F) - prediction * target +
             std::log1p(std::exp(-std::fabs(prediction)));
  }
  return 0;
}

float slope_of(ElementLoss loss, float delta, float prediction, float target) {
  const float difference = prediction - target;
  switch (loss) {
    case ElementLoss::absolute:
      return difference > 0 ? 1.0F : (difference < 0 ? -1.0F : 0.0F);
    case ElementLoss::huber:
      return std::clamp(difference, -delta, delta);
    case ElementLoss::binary_cross_entropy:
      return 1.0F / (1.0F + std::exp(-prediction)) - target;
  }
  return 0;
}

}  // namespace

float cross_entropy(const CrossEntropyShape& shape, DType dtype, const void* log_probabilities,
                    const int32_t* labels) {
  const double everywhere = shape.smoothing / static_cast<double>(shape.classes);
  double loss = 0;
  for (int64_t row = 0; row < shape.rows; ++row) {
    const int64_t first = row * shape.classes;
    double sum = 0;
    for (int64_t c = 0; shape.smoothing > 0 && c < shape.classes; ++c) {
      sum += load(dtype, log_probabilities, first + c);
    }
    const double own = load(dtype, log_probabilities, first + labels[row]);
    loss -= shape.weight(labels[row]) * (everywhere * sum + (1.0 - shape.smoothing) * own);
  }
  return static_cast<float>(loss / static_cast<double>(shape.rows));
}

void cross_entropy_backward(const CrossEntropyShape& shape, DType dtype, const int32_t* labels,
                            float factor, void* diff) {
  const float everywhere = shape.smoothing / static_cast<float>(shape.classes);
  for (int64_t row = 0; row < shape.rows; ++row) {
    const float weight = shape.weight(labels[row]);
    for (int64_t c = 0; c < shape.classes; ++c) {
      const float target = everywhere + (c == labels[row] ? 1.0F - shape.smoothing : 0.0F);
      store(dtype, diff, row * shape.classes + c, -target * factor * weight);
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

double element_loss(ElementLoss loss, float delta, DType dtype, int64_t n, const void* prediction,
                    const void* target) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += value_of(loss, delta, load(dtype, prediction, i), load(dtype, target, i));
  }
  return sum;
}

void element_loss_backward(ElementLoss loss, float delta, DType dtype, int64_t n,
                           const void* prediction, const void* target, float factor, void* diff) {
  parallel_for(n, 64, kSerialBelow, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float slope = slope_of(loss, delta, load(dtype, prediction, i), load(dtype, target, i));
      store(dtype, diff, i, slope * factor);
    }
  });
}

}  // namespace syrtos::ops::native

#include "syrtos/data/pipeline/mixing.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "syrtos/data/pipeline/draws.h"

namespace syrtos::data {

namespace {

constexpr uint32_t kMix = 0x6d697820;
constexpr uint32_t kShare = 0x6d697873;

/// A random number of Gamma(strength, 1) by Marsaglia and Tsang's method; the logarithm, since
/// those of small strengths are smaller than any double.
double log_gamma_draw(double strength, const SampleKey& key, uint32_t& number) {
  double boost = 0;
  if (strength < 1) {
    boost = std::log(1 - unit(draw(key, number++, kShare)[0])) / strength;
    strength += 1;
  }
  const double d = strength - 1.0 / 3;
  for (;;) {
    const auto words = draw(key, number++, kShare);
    const double radius = std::sqrt(-2 * std::log(1 - unit(words[0])));
    const double normal = radius * std::cos(2 * std::numbers::pi * unit(words[1]));
    const double root = 1 + normal / std::sqrt(9 * d);
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(1 - unit(words[2])) < normal * normal / 2 + d * (1 - v + std::log(v))) {
      return boost + std::log(d * v);
    }
  }
}

double beta_draw(double strength, const SampleKey& key) {
  uint32_t number = 0;
  const double a = log_gamma_draw(strength, key, number);
  const double b = log_gamma_draw(strength, key, number);
  return 1 / (1 + std::exp(b - a));
}

template <typename T>
void blend(float share, int64_t count, const T* other, T* sample) {
  for (int64_t i = 0; i < count; ++i) {
    sample[i] =
        T(share * static_cast<float>(sample[i]) + (1 - share) * static_cast<float>(other[i]));
  }
}

}  // namespace

Mix place_mix(const Augment& augment, const SampleKey& key, int64_t height, int64_t width) {
  const auto words = draw(key, 0, kMix);
  const bool cuts = augment.cutmix > 0 && (augment.mixup == 0 || (words[0] & 1U) != 0);
  if (!cuts) return {.share = beta_draw(augment.mixup, key)};
  const double side = std::sqrt(1 - beta_draw(augment.cutmix, key));
  const auto half_height = static_cast<int64_t>(side * static_cast<double>(height) / 2);
  const auto half_width = static_cast<int64_t>(side * static_cast<double>(width) / 2);
  const int64_t y = below(words[1], height);
  const int64_t x = below(words[2], width);
  Mix mix;
  mix.top = std::max<int64_t>(0, y - half_height);
  mix.left = std::max<int64_t>(0, x - half_width);
  mix.height = std::min(height, y + half_height) - mix.top;
  mix.width = std::min(width, x + half_width) - mix.left;
  mix.share = 1 - static_cast<double>(mix.height * mix.width) / static_cast<double>(height * width);
  return mix;
}

void mix(const Mix& how, const MixedShape& shape, const void* other, void* sample) {
  if (how.share == 1) return;
  if (how.height == 0) {
    const int64_t count = shape.height * shape.width * shape.channels;
    const auto share = static_cast<float>(how.share);
    if (shape.dtype == DType::bf16) {
      blend(share, count, static_cast<const BFloat16*>(other), static_cast<BFloat16*>(sample));
    } else {
      blend(share, count, static_cast<const float*>(other), static_cast<float*>(sample));
    }
    return;
  }
  const auto pixel = static_cast<int64_t>(size_of(shape.dtype)) * shape.channels;
  for (int64_t y = how.top; y < how.top + how.height; ++y) {
    const int64_t at = (y * shape.width + how.left) * pixel;
    std::memcpy(static_cast<std::byte*>(sample) + at, static_cast<const std::byte*>(other) + at,
                static_cast<size_t>(how.width * pixel));
  }
}

void mix(const Mix& how, std::span<const float> other, std::span<float> targets) {
  const auto share = static_cast<float>(how.share);
  blend(share, std::ssize(targets), other.data(), targets.data());
}

}  // namespace syrtos::data

#include "syrtos/data/patches.h"

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/data/pipeline/transform.h"

namespace syrtos::data {

namespace {
constexpr int64_t kMostSamples = 5000;  // far more patches than numbers to estimate
}

std::vector<double> patch_covariance(const Dataset& data, const Normalization& normalization,
                                     int64_t height, int64_t width) {
  const DatasetInfo& info = data.info();
  SYRTOS_CHECK(info.height >= height && info.width >= width, "{}x{}", info.height, info.width);
  const Transform transform(info, info.shape(), normalization, {}, DType::f32);
  const auto n = static_cast<size_t>(info.channels * height * width);
  std::vector<double> sums(n);
  std::vector<double> products(n * n);
  std::vector<float> image(static_cast<size_t>(transform.elements()));
  std::vector<double> patch(n);
  Scratch scratch;
  int64_t patches = 0;
  for (int64_t index = 0; index < std::min(kMostSamples, data.size()); ++index) {
    transform.apply(data.read(index, scratch), Placement{}, image.data(), scratch);
    for (int64_t top = 0; top + height <= info.height; ++top) {
      for (int64_t left = 0; left + width <= info.width; ++left) {
        size_t at = 0;
        for (int64_t c = 0; c < info.channels; ++c) {
          for (int64_t y = top; y < top + height; ++y) {
            for (int64_t x = left; x < left + width; ++x) {
              patch[at++] = image[static_cast<size_t>((y * info.width + x) * info.channels + c)];
            }
          }
        }
        for (size_t i = 0; i < n; ++i) {
          sums[i] += patch[i];
          for (size_t j = 0; j <= i; ++j) products[i * n + j] += patch[i] * patch[j];
        }
        ++patches;
      }
    }
  }
  data.check();
  const auto count = static_cast<double>(patches);
  std::vector<double> covariance(n * n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      covariance[i * n + j] = covariance[j * n + i] =
          products[i * n + j] / count - sums[i] / count * (sums[j] / count);
    }
  }
  return covariance;
}

}  // namespace syrtos::data

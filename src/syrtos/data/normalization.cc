#include "syrtos/data/normalization.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"

namespace syrtos::data {

namespace {

constexpr int64_t kMostSamples = 4096;

/// Sums of one sample, channel by channel. Within a sample the order is fixed; over samples it is
/// fixed by adding them up one after the other.
struct Sums {
  std::vector<double> values;
  std::vector<double> squares;
  double count = 0;
};

template <typename T>
void add_values(const T* values, const Sample& sample, Sums& sums) {
  const int64_t pixels = sample.height * sample.width;
  for (int64_t c = 0; c < sample.channels; ++c) {
    double sum = 0;
    double square = 0;
    for (int64_t i = 0; i < pixels; ++i) {
      const auto value = static_cast<double>(values[i * sample.channels + c]);
      sum += value;
      square += value * value;
    }
    sums.values.push_back(sum);
    sums.squares.push_back(square);
  }
  sums.count = static_cast<double>(pixels);
}

}  // namespace

Normalization measure_normalization(const Dataset& data) {
  const int64_t samples = std::min(kMostSamples, data.size());
  const auto channels = static_cast<size_t>(data.info().channels);
  std::vector<Sums> sums(static_cast<size_t>(samples));
  std::exception_ptr error;
  std::mutex mutex;
  parallel_for(samples, 1, 2, [&](int64_t begin, int64_t end) {
    try {
      Scratch scratch;
      for (int64_t n = begin; n < end; ++n) {
        const Sample sample = data.read(n * data.size() / samples, scratch);
        Sums& to = sums[static_cast<size_t>(n)];
        if (sample.dtype == DType::u8) {
          add_values(sample.bytes(), sample, to);
        } else {
          add_values(sample.floats(), sample, to);
        }
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
  Normalization result;
  for (size_t c = 0; c < channels; ++c) {
    double sum = 0;
    double square = 0;
    double count = 0;
    for (const Sums& of : sums) {
      sum += of.values[c];
      square += of.squares[c];
      count += of.count;
    }
    const double mean = sum / count;
    const double variance = square / count - mean * mean;
    result.mean.push_back(static_cast<float>(mean));
    result.deviation.push_back(variance > 1e-12 ? static_cast<float>(std::sqrt(variance)) : 1.0F);
  }
  return result;
}

}  // namespace syrtos::data

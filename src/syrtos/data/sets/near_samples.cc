#include "syrtos/data/sets/near_samples.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/data/pipeline/draws.h"

namespace syrtos::data {

namespace {

constexpr uint32_t kCandidate = 0x6e656172;
constexpr uint32_t kPart = 0x6e656170;
constexpr double kTaken = 0.3;  // of the parts
constexpr int64_t kTiles = 8;   // along each side of a picture
// Of so many samples that are looked at, the nearest is much like it; all would take hours.
constexpr int64_t kCandidates = 100;
constexpr int64_t kCompared = 512;  // values, spread over the sample

double value_at(const Sample& sample, int64_t at) {
  return sample.dtype == DType::u8 ? sample.bytes()[at] : sample.floats()[at];
}

std::vector<float> sketch_of(const Sample& sample) {
  const int64_t elements = sample.elements();
  const int64_t count = std::min(kCompared, elements);
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(value_at(sample, i * elements / count)));
  }
  return values;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double off = a[i] - b[i];
    sum += off * off;
  }
  return sum;
}

/// Two words make a number of the standard normal distribution (Box and Muller).
double normal(uint32_t a, uint32_t b) {
  return std::sqrt(-2 * std::log(1 - unit(a))) * std::cos(2 * std::numbers::pi * unit(b));
}

void take_values(const SampleKey& key, const float* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) {
    const auto words = draw(key, static_cast<uint32_t>(i), kPart);
    if (unit(words[0]) >= kTaken) continue;
    const double deviation = std::abs(to[i] - from[i]) / 2;
    to[i] = static_cast<float>(from[i] + deviation * normal(words[1], words[2]));
  }
}

void take_tiles(const SampleKey& key, const Sample& shape, const uint8_t* from, uint8_t* to) {
  const auto pixel = shape.channels * static_cast<int64_t>(size_of(shape.dtype));
  for (int64_t y = 0; y < kTiles; ++y) {
    for (int64_t x = 0; x < kTiles; ++x) {
      const auto words = draw(key, static_cast<uint32_t>(y * kTiles + x), kPart);
      if (unit(words[0]) >= kTaken) continue;
      const int64_t left = x * shape.width / kTiles;
      const int64_t width = (x + 1) * shape.width / kTiles - left;
      for (int64_t row = y * shape.height / kTiles; row < (y + 1) * shape.height / kTiles; ++row) {
        const int64_t at = (row * shape.width + left) * pixel;
        std::memcpy(to + at, from + at, static_cast<size_t>(width * pixel));
      }
    }
  }
}

}  // namespace

NearSamples::NearSamples(std::shared_ptr<const Dataset> of, int64_t count, uint64_t seed)
    : of_(std::move(of)), seed_(seed) {
  info_ = of_->info();
  const bool bytes_in_rows = info_.height == 1 && info_.dtype == DType::u8;
  if (!info_.same_size() || info_.numbers || bytes_in_rows || info_.size < 2) {
    fail_request(
        "--synthetic: expected two or more pictures of one size, or signals or rows of a table, "
        "found {} samples in {}{}",
        info_.size, info_.name, info_.numbers ? ", which are numbers of characters" : "");
  }
  info_.size = count;
  info_.name += " (made-up)";
  info_.decodes = true;
  find_others();
}

void NearSamples::find_others() {
  const int64_t made_of = std::min(info_.size, of_->size());
  others_.resize(static_cast<size_t>(made_of));
  std::vector<std::vector<float>> sketches(static_cast<size_t>(of_->size()));
  parallel_for(of_->size(), 1, 64, [&](int64_t begin, int64_t end) {
    Scratch scratch;
    for (int64_t i = begin; i < end; ++i) {
      sketches[static_cast<size_t>(i)] = sketch_of(of_->read(i, scratch));
    }
  });
  parallel_for(made_of, 1, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      double least = std::numeric_limits<double>::infinity();
      for (int64_t n = 0; n < kCandidates; ++n) {
        const auto words = draw({seed_, 0, i}, static_cast<uint32_t>(n), kCandidate);
        // Any but the sample itself.
        const int64_t one = (i + 1 + below(words[0], of_->size() - 1)) % of_->size();
        const double off =
            distance(sketches[static_cast<size_t>(i)], sketches[static_cast<size_t>(one)]);
        if (off >= least) continue;
        least = off;
        others_[static_cast<size_t>(i)] = one;
      }
    }
  });
}

Sample NearSamples::read(int64_t index, Scratch& scratch) const {
  Sample sample = of_->read(base(index), scratch);
  const auto bytes = static_cast<size_t>(sample.elements()) * size_of(sample.dtype);
  std::vector<uint8_t> made(bytes);
  std::memcpy(made.data(), sample.values, bytes);
  const Sample other = of_->read(this->other(index), scratch);
  const SampleKey key{seed_, 1, index};
  if (sample.height > 1) {
    take_tiles(key, sample, static_cast<const uint8_t*>(other.values), made.data());
  } else {
    take_values(key, other.floats(), sample.elements(), reinterpret_cast<float*>(made.data()));
  }
  scratch.values.assign(made.begin(), made.end());
  sample.values = scratch.values.data();
  sample.target = of_->target(base(index));
  return sample;
}

}  // namespace syrtos::data

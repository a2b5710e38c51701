#include "syrtos/data/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <mutex>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"

namespace syrtos::data {

namespace {

// Sums of one channel. Bytes are summed exactly; floats in blocks that do not depend on threads.
struct Sums {
  uint64_t bytes = 0;
  uint64_t byte_squares = 0;
  double floats = 0;
  double float_squares = 0;
  int64_t values = 0;

  void add(const Sums& other) {
    bytes += other.bytes;
    byte_squares += other.byte_squares;
    floats += other.floats;
    float_squares += other.float_squares;
    values += other.values;
  }
};

struct Block {
  std::vector<Sums> channels;
  int64_t smallest_height = std::numeric_limits<int64_t>::max();
  int64_t smallest_width = std::numeric_limits<int64_t>::max();
  int64_t largest_height = 0;
  int64_t largest_width = 0;

  void add(const Sample& sample) {
    smallest_height = std::min(smallest_height, sample.height);
    smallest_width = std::min(smallest_width, sample.width);
    largest_height = std::max(largest_height, sample.height);
    largest_width = std::max(largest_width, sample.width);
    channels.resize(std::max(channels.size(), static_cast<size_t>(sample.channels)));
    const int64_t pixels = sample.height * sample.width;
    for (int64_t c = 0; c < sample.channels; ++c) {
      Sums& sums = channels[static_cast<size_t>(c)];
      sums.values += pixels;
      if (sample.dtype == DType::u8) {
        add_bytes(sums, sample.bytes() + c, pixels, sample.channels);
      } else {
        add_floats(sums, sample.floats() + c, pixels, sample.channels);
      }
    }
  }

  void add(const Block& other) {
    smallest_height = std::min(smallest_height, other.smallest_height);
    smallest_width = std::min(smallest_width, other.smallest_width);
    largest_height = std::max(largest_height, other.largest_height);
    largest_width = std::max(largest_width, other.largest_width);
    channels.resize(std::max(channels.size(), other.channels.size()));
    for (size_t c = 0; c < other.channels.size(); ++c) channels[c].add(other.channels[c]);
  }

 private:
  static void add_bytes(Sums& sums, const uint8_t* values, int64_t pixels, int64_t stride) {
    uint64_t sum = 0;
    uint64_t squares = 0;
    for (int64_t i = 0; i < pixels; ++i) {
      const uint32_t value = values[i * stride];
      sum += value;
      squares += value * value;
    }
    sums.bytes += sum;
    sums.byte_squares += squares;
  }
  static void add_floats(Sums& sums, const float* values, int64_t pixels, int64_t stride) {
    for (int64_t i = 0; i < pixels; ++i) {
      const double value = values[i * stride];
      sums.floats += value;
      sums.float_squares += value * value;
    }
  }
};

constexpr int64_t kBlock = 64;    // samples that are summed in order
constexpr int64_t kRound = 4096;  // samples between two calls of done()

// The k-th of `count` samples spread evenly over `size`.
int64_t spread(int64_t k, int64_t count, int64_t size) {
  return static_cast<int64_t>(static_cast<__int128>(k) * size / count);
}

// Reads the samples [begin, end) of the spread, a block per slot.
void read_blocks(const Dataset& dataset, int64_t begin, int64_t end, int64_t count,
                 std::vector<Block>& blocks) {
  std::mutex mutex;
  std::exception_ptr failure;  // must not leave a thread of the pool
  parallel([&](int thread, int threads) {
    const Range range = share_of(static_cast<int64_t>(blocks.size()), thread, threads);
    Scratch scratch;
    try {
      for (int64_t b = range.begin; b < range.end; ++b) {
        const int64_t last = std::min(begin + (b + 1) * kBlock, end);
        for (int64_t k = begin + b * kBlock; k < last; ++k) {
          blocks[static_cast<size_t>(b)].add(
              dataset.read(spread(k, count, dataset.size()), scratch));
        }
        dataset.check();
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

Normalization Statistics::normalization() const {
  Normalization result;
  result.mean.assign(mean.begin(), mean.end());
  for (const double value : deviation) {
    result.deviation.push_back(value > 0 ? static_cast<float>(value) : 1.0F);
  }
  return result;
}

Statistics measure(const Dataset& dataset, int64_t most_samples,
                   const std::function<bool(int64_t)>& done) {
  SYRTOS_CHECK(most_samples > 0, "{}", most_samples);
  Statistics result;
  result.samples = std::min(most_samples, dataset.size());
  result.per_class.resize(dataset.info().classes.size());
  Block total;
  for (int64_t begin = 0; begin < result.samples; begin += kRound) {
    if (done && !done(begin)) fail_run("interrupted");
    const int64_t end = std::min(begin + kRound, result.samples);
    std::vector<Block> blocks(static_cast<size_t>((end - begin + kBlock - 1) / kBlock));
    read_blocks(dataset, begin, end, result.samples, blocks);
    for (const Block& block : blocks) total.add(block);
  }
  for (int64_t i = 0; i < dataset.size() && !result.per_class.empty(); ++i) {
    ++result.per_class[static_cast<size_t>(dataset.label(i))];
  }
  for (const Sums& sums : total.channels) {
    const auto n = static_cast<double>(sums.values);
    const double mean = (static_cast<double>(sums.bytes) + sums.floats) / n;
    const double square = (static_cast<double>(sums.byte_squares) + sums.float_squares) / n;
    result.mean.push_back(mean);
    result.deviation.push_back(std::sqrt(std::max(0.0, square - mean * mean)));
  }
  if (result.samples > 0) {
    result.smallest_height = total.smallest_height;
    result.smallest_width = total.smallest_width;
    result.largest_height = total.largest_height;
    result.largest_width = total.largest_width;
  }
  return result;
}

Normalization measure_normalization(const Dataset& dataset, int64_t most_samples) {
  if (!dataset.info().is_table()) return measure(dataset, most_samples).normalization();
  const int64_t samples = std::min(most_samples, dataset.size());
  const auto columns = static_cast<size_t>(dataset.info().width);
  std::vector<double> sums(columns), squares(columns);
  Scratch scratch;
  // Around the first row, so that squares of large numbers with a small spread keep their digits.
  std::vector<double> around(columns);
  for (int64_t i = 0; i < samples; ++i) {
    const float* row = dataset.read(spread(i, samples, dataset.size()), scratch).floats();
    for (size_t c = 0; c < columns; ++c) {
      if (i == 0) around[c] = row[c];
      const double value = row[c] - around[c];
      sums[c] += value;
      squares[c] += value * value;
    }
  }
  dataset.check();
  Statistics result;
  const auto n = static_cast<double>(std::max<int64_t>(1, samples));
  for (size_t c = 0; c < columns; ++c) {
    const double mean = sums[c] / n;
    result.mean.push_back(around[c] + mean);
    result.deviation.push_back(std::sqrt(std::max(0.0, squares[c] / n - mean * mean)));
  }
  return result.normalization();
}

}  // namespace syrtos::data

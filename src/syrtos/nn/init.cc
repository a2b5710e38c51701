#include "syrtos/nn/init.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/base/philox.h"
#include "syrtos/nn/whitening.h"

namespace syrtos::nn {
namespace {

constexpr uint64_t hash(std::string_view text) {  // FNV-1a
  uint64_t result = 0xcbf29ce484222325U;
  for (const char c : text) {
    result = (result ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  return result;
}

/// The random words of one parameter, four at a time.
class Stream {
 public:
  Stream(uint64_t seed, std::string_view name) : name_(hash(name)) {
    // The purpose keeps this apart from the masks of dropout with the same seed.
    const uint64_t key = seed ^ hash("init");
    key_ = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
  }

  Philox::Counter words(uint64_t block) const {
    return philox(key_, {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                         static_cast<uint32_t>(name_), static_cast<uint32_t>(name_ >> 32)});
  }

 private:
  uint64_t name_;
  Philox::Key key_;
};

// In (0, 1]: a logarithm may follow. 24 bits are what a float holds.
float unit(uint32_t word) { return (static_cast<float>(word >> 8) + 1) * 0x1p-24F; }

std::array<float, 4> uniform_values(const Philox::Counter& words, float bound) {
  std::array<float, 4> values{};
  for (size_t i = 0; i < 4; ++i) values[i] = (2 * unit(words[i]) - 1) * bound;
  return values;
}

// Box and Muller: two normal values from two uniform ones.
std::array<float, 4> normal_values(const Philox::Counter& words, float deviation) {
  std::array<float, 4> values{};
  for (size_t i = 0; i < 4; i += 2) {
    const float radius = deviation * std::sqrt(-2 * std::log(unit(words[i])));
    const float angle = 2 * std::numbers::pi_v<float> * unit(words[i + 1]);
    values[i] = radius * std::cos(angle);
    values[i + 1] = radius * std::sin(angle);
  }
  return values;
}

template <typename Store, typename Values>
void fill(int64_t elements, const Stream& stream, Values&& values, Store&& store) {
  const int64_t blocks = (elements + 3) / 4;
  parallel_for(blocks, 16, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const std::array<float, 4> four = values(stream.words(static_cast<uint64_t>(block)));
      const int64_t count = std::min<int64_t>(4, elements - 4 * block);
      for (int64_t i = 0; i < count; ++i) store(4 * block + i, four[static_cast<size_t>(i)]);
    }
  });
}

template <typename Values>
void fill(Tensor& tensor, const Stream& stream, Values&& values) {
  if (tensor.dtype() == DType::f32) {
    float* data = tensor.as<float>();
    fill(tensor.elements(), stream, values, [=](int64_t i, float v) { data[i] = v; });
  } else {
    fill(tensor.elements(), stream, values, [&](int64_t i, float v) { tensor.set(i, v); });
  }
}

// Gram and Schmidt on random vectors, twice over: once leaves rounding errors that add up.
void fill_orthogonal(Tensor& tensor, const Stream& stream, double gain) {
  const int64_t rows = tensor.shape()[0];
  const int64_t columns = tensor.elements() / rows;
  const bool by_rows = rows <= columns;
  const int64_t count = std::min(rows, columns);
  const int64_t length = std::max(rows, columns);
  std::vector<double> vectors(static_cast<size_t>(count * length));
  fill(
      count * length, stream, [](const auto& words) { return normal_values(words, 1); },
      [&](int64_t i, float v) { vectors[static_cast<size_t>(i)] = v; });

  const auto dot = [&](const double* a, const double* b) {
    double sum = 0;
    for (int64_t i = 0; i < length; ++i) sum += a[i] * b[i];
    return sum;
  };
  for (int64_t v = 0; v < count; ++v) {
    double* vector = vectors.data() + v * length;
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t u = 0; u < v; ++u) {
        const double* other = vectors.data() + u * length;
        const double along = dot(vector, other);
        for (int64_t i = 0; i < length; ++i) vector[i] -= along * other[i];
      }
      const double norm = std::sqrt(dot(vector, vector));
      for (int64_t i = 0; i < length; ++i) vector[i] /= norm;
    }
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t at = by_rows ? row * length + column : column * length + row;
      tensor.set(row * columns + column,
                 static_cast<float>(gain * vectors[static_cast<size_t>(at)]));
    }
  }
}

// An identity at the kernel's centre for the outputs that have an input of their number.
void fill_dirac(Tensor& tensor, const Stream& stream) {
  const Shape& shape = tensor.shape();
  SYRTOS_CHECK(shape.rank() > 2, "dirac is for convolutions, found {}", to_string(shape));
  const auto bound = static_cast<float>(1 / std::sqrt(static_cast<double>(fans_of(shape).in)));
  fill(tensor, stream, [=](const auto& words) { return uniform_values(words, bound); });
  const int64_t taps = shape.elements_from(2);
  int64_t centre = 0;
  for (int axis = 2; axis < shape.rank(); ++axis) centre = centre * shape[axis] + shape[axis] / 2;
  for (int64_t out = 0; out < std::min(shape[0], shape[1]); ++out) {
    for (int64_t i = 0; i < shape[1] * taps; ++i) {
      tensor.set(out * shape[1] * taps + i, i == out * taps + centre ? 1 : 0);
    }
  }
}

// Of the kinds that keep the size of activations or gradients.
double variance(InitKind kind, const Fans& fans) {
  const auto in = static_cast<double>(fans.in);
  const auto out = static_cast<double>(fans.out);
  switch (kind) {
    case InitKind::glorot_uniform:
    case InitKind::glorot_normal:
      return 2 / (in + out);
    case InitKind::he_uniform:
    case InitKind::he_normal:
      return 2 / in;
    case InitKind::lecun_uniform:
    case InitKind::lecun_normal:
      return 1 / in;
    default:
      return 0;
  }
}

}  // namespace

Fans fans_of(const Shape& shape) {
  if (shape.rank() < 2) return {shape.elements(), shape.elements()};
  return {shape.elements_from(1), shape[0] * shape.elements_from(2)};
}

std::string to_string(const Initializer& initializer) {
  switch (initializer.kind) {
    case InitKind::constant:
      return fmt::format("constant {}", initializer.value);
    case InitKind::uniform:
      return fmt::format("uniform {}", initializer.value);
    case InitKind::glorot_uniform:
      return "glorot_uniform";
    case InitKind::glorot_normal:
      return "glorot_normal";
    case InitKind::he_uniform:
      return "he_uniform";
    case InitKind::he_normal:
      return "he_normal";
    case InitKind::lecun_uniform:
      return "lecun_uniform";
    case InitKind::lecun_normal:
      return "lecun_normal";
    case InitKind::orthogonal:
      return fmt::format("orthogonal {}", initializer.value);
    case InitKind::dirac:
      return "dirac";
    case InitKind::whitening:
      return "whitening";
  }
  return "?";
}

namespace {

void initialize_members(Tensor& all, const Initializer& initializer, uint64_t seed,
                        std::string_view name, const PatchCovariance* patches) {
  const Shape& shape = all.shape();
  const int64_t members = initializer.members;
  Shape own;
  for (int axis = initializer.apart ? 1 : 0; axis < shape.rank(); ++axis) {
    own.append(axis == 0 ? shape[0] / members : shape[axis]);
  }
  Initializer alone = initializer;
  alone.members = 1;
  for (int64_t m = 0; m < members; ++m) {
    Tensor member({all.dtype(), own});
    initialize(member, alone, seed + static_cast<uint64_t>(m), name, patches);
    for (int64_t i = 0; i < member.elements(); ++i) {
      all.set(m * member.elements() + i, member.get(i));
    }
  }
}

}  // namespace

void initialize(Tensor& tensor, const Initializer& initializer, uint64_t seed,
                std::string_view name, const PatchCovariance* patches) {
  if (initializer.members > 1) {
    initialize_members(tensor, initializer, seed, name, patches);
    return;
  }
  SYRTOS_CHECK(tensor.dtype() == DType::f32 || tensor.dtype() == DType::bf16, "{} is {}", name,
               to_string(tensor.dtype()));
  if (tensor.elements() == 0) return;
  const Stream stream(seed, name);
  const double spread = variance(initializer.kind, fans_of(tensor.shape()));
  switch (initializer.kind) {
    case InitKind::constant:
      for (int64_t i = 0; i < tensor.elements(); ++i) tensor.set(i, initializer.value);
      return;
    case InitKind::orthogonal:
      fill_orthogonal(tensor, stream, initializer.value);
      return;
    case InitKind::dirac:
      fill_dirac(tensor, stream);
      return;
    case InitKind::whitening:
      fill_whitening(tensor, patches != nullptr
                                 ? *patches
                                 : PatchCovariance::identity(patch_shape(tensor.shape())));
      return;
    case InitKind::glorot_normal:
    case InitKind::he_normal:
    case InitKind::lecun_normal: {
      const auto deviation = static_cast<float>(std::sqrt(spread));
      fill(tensor, stream, [=](const auto& words) { return normal_values(words, deviation); });
      return;
    }
    case InitKind::uniform:
    case InitKind::glorot_uniform:
    case InitKind::he_uniform:
    case InitKind::lecun_uniform: {
      const bool given = initializer.kind == InitKind::uniform;
      const float bound = given ? initializer.value : static_cast<float>(std::sqrt(3 * spread));
      fill(tensor, stream, [=](const auto& words) { return uniform_values(words, bound); });
      return;
    }
  }
}

}  // namespace syrtos::nn

#include "syrtos/world/payload.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "syrtos/base/error.h"

namespace syrtos::world {

namespace {

/// Its bits are the upper half of an f32's.
struct Bf16 {
  uint16_t bits;
};

inline float widened(Bf16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

/// Rounds to the nearest, ties to even; what is no number stays none.
inline Bf16 rounded(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  const uint32_t quiet = bits >> 16 | 0x40;
  return {static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? quiet : nearest)};
}

// Plain loops that the compiler turns into vectors.

struct Sum {
  template <typename T>
  T operator()(T a, T b) const {
    return a + b;
  }
  int64_t operator()(int64_t a, int64_t b) const {  // around the end, which is defined
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
};

/// Decides between numbers that are equal or cannot be compared, whatever their order.
template <typename T, bool kNegative>
T neither(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != b) return std::numeric_limits<T>::quiet_NaN();
    return kNegative == std::signbit(a) ? a : b;
  }
  return a;
}

struct Min {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b ? a : b < a ? b : neither<T, true>(a, b);
  }
};

struct Max {
  template <typename T>
  T operator()(T a, T b) const {
    return a > b ? a : b > a ? b : neither<T, false>(a, b);
  }
};

template <typename Operation, typename T>
void reduce(T* __restrict to, const T* __restrict from, size_t n) {
  const Operation operation;
  if constexpr (std::is_same_v<T, Bf16>) {
    for (size_t i = 0; i < n; ++i) {
      to[i] = rounded(operation(widened(to[i]), widened(from[i])));
    }
  } else {
    for (size_t i = 0; i < n; ++i) to[i] = operation(to[i], from[i]);
  }
}

template <typename Operation>
void widen_reduce(float* __restrict to, const Bf16* __restrict from, size_t n) {
  const Operation operation;
  for (size_t i = 0; i < n; ++i) to[i] = operation(to[i], widened(from[i]));
}

void widen(float* __restrict to, const Bf16* __restrict from, size_t n) {
  for (size_t i = 0; i < n; ++i) to[i] = widened(from[i]);
}

template <typename Operation>
void land_by(const Landing& landing, std::byte* to, const void* from, size_t bytes) {
  const auto each = [&]<typename T>(T* values) {
    reduce<Operation>(values, static_cast<const T*>(from), bytes / sizeof(T));
  };
  switch (landing.arrives) {
    case Element::f32:
      return each(reinterpret_cast<float*>(to));
    case Element::f64:
      return each(reinterpret_cast<double*>(to));
    case Element::i64:
      return each(reinterpret_cast<int64_t*>(to));
    case Element::bf16:
      if (landing.kept == Element::bf16) return each(reinterpret_cast<Bf16*>(to));
      return widen_reduce<Operation>(reinterpret_cast<float*>(to), static_cast<const Bf16*>(from),
                                     bytes / sizeof(Bf16));
  }
}

}  // namespace

void land(const Target& target, size_t offset, const void* data, size_t bytes) {
  if (target.data == nullptr || data == nullptr || bytes == 0) return;
  SYRTOS_CHECK(offset + bytes <= target.bytes, "{} + {} of {}", offset, bytes, target.bytes);
  const Landing& landing = target.landing;
  const size_t growth = bytes_of(landing.kept) / bytes_of(landing.arrives);
  std::byte* to = static_cast<std::byte*>(target.data) + growth * offset;
  if (landing.copies()) {
    std::memcpy(to, data, bytes);
  } else if (!landing.reduces) {
    widen(reinterpret_cast<float*>(to), static_cast<const Bf16*>(data), bytes / sizeof(Bf16));
  } else {
    switch (landing.reduction) {
      case Reduction::sum:
        return land_by<Sum>(landing, to, data, bytes);
      case Reduction::min:
        return land_by<Min>(landing, to, data, bytes);
      case Reduction::max:
        return land_by<Max>(landing, to, data, bytes);
    }
  }
}

const char* to_string(Element element) {
  switch (element) {
    case Element::f32:
      return "f32";
    case Element::bf16:
      return "bf16";
    case Element::f64:
      return "f64";
    case Element::i64:
      return "i64";
  }
  return "unknown";
}

const char* to_string(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return "sum";
    case Reduction::min:
      return "min";
    case Reduction::max:
      return "max";
  }
  return "unknown";
}

}  // namespace syrtos::world

#pragma once

#include <cstddef>
#include <cstdint>

namespace syrtos::world {

/// What numbers are in memory and on the wire.
enum class Element : uint8_t { f32, bf16, f64, i64 };

/// How numbers of several ranks become one.
enum class Reduction : uint8_t { sum, min, max };

constexpr size_t bytes_of(Element element) {
  switch (element) {
    case Element::bf16:
      return 2;
    case Element::f32:
      return 4;
    case Element::f64:
    case Element::i64:
      return 8;
  }
  return 0;
}

/// "f32", "bf16", "f64", "i64".
const char* to_string(Element element);
/// "sum", "min", "max".
const char* to_string(Reduction reduction);

}  // namespace syrtos::world

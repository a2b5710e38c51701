#pragma once

#include <cstddef>

#include "syrtos/world/element.h"

namespace syrtos::world {

/// What is sent. Without data only the size travels: simulated worlds can carry sizes alone.
struct Source {
  const void* data = nullptr;
  size_t bytes = 0;
};

/// What becomes of arriving bytes. Reducing as they arrive saves a pass over memory.
///
/// Reducing gives the same bits whichever of two numbers arrives and whichever is there. Sums of
/// bf16 are made in f32 and rounded; the smaller of two zeros is the negative one; where one number
/// is no number the result is none.
struct Landing {
  bool reduces = false;  ///< with what is there; otherwise it is stored
  Reduction reduction = Reduction::sum;
  Element arrives = Element::f32;
  Element kept = Element::f32;  ///< in memory: what arrives, or f32 for bf16

  bool operator==(const Landing&) const = default;
  /// The bytes are stored as they are.
  bool copies() const { return !reduces && arrives == kept; }

  static const Landing kStore;
  static const Landing kAdd;       ///< f32, added to the f32 that are there
  static const Landing kWiden;     ///< bf16, stored as f32
  static const Landing kWidenAdd;  ///< bf16, added to the f32 that are there
  static constexpr Landing reduce(Element element, Reduction reduction) {
    return {true, reduction, element, element};
  }
};

inline constexpr Landing Landing::kStore{};
inline constexpr Landing Landing::kAdd{true};
inline constexpr Landing Landing::kWiden{false, Reduction::sum, Element::bf16, Element::f32};
inline constexpr Landing Landing::kWidenAdd{true, Reduction::sum, Element::bf16, Element::f32};

/// Where a message goes: `bytes` is its size on the wire.
struct Target {
  void* data = nullptr;
  size_t bytes = 0;
  Landing landing = Landing::kStore;
};

/// Parts of a message that is landed piece by piece begin and end at multiples of this.
constexpr size_t kLandingGrain = 8;

/// Lands `bytes` that belong at `offset` of the message. Nothing happens without data.
void land(const Target& target, size_t offset, const void* data, size_t bytes);

}  // namespace syrtos::world

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace syrtos::collective {

/// To the nearest bf16, ties to even; a NaN stays one.
void round_to_bf16(const float* from, uint16_t* to, size_t count);
/// The same in place: f32 that bf16 can hold.
void round_as_bf16(float* values, size_t count);

/// Memory for copies of what is sent, rounded or as it was, kept for the next time. Belongs to one
/// world's thread and outlives the collectives that use it.
class Scratch {
 public:
  class Lease {
   public:
    Lease(Scratch* owner, std::vector<std::byte> memory)
        : owner_(owner), memory_(std::move(memory)) {}
    Lease(Lease&& other) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (owner_ != nullptr && !memory_.empty()) owner_->free_.push_back(std::move(memory_));
    }
    std::byte* data() { return memory_.data(); }

   private:
    Scratch* owner_;
    std::vector<std::byte> memory_;
  };

  /// From `scratch` or, without one, for this once.
  static Lease borrow(Scratch* scratch, size_t bytes);

 private:
  std::vector<std::vector<std::byte>> free_;
};

}  // namespace syrtos::collective

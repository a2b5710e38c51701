#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace syrtos::world {

/// Something to compute: any callable without parameters, kept in place, so that nothing is
/// allocated for it. What it refers to outlives it.
class Work {
 public:
  static constexpr size_t kMostBytes = 64;  ///< of a callable: eight references

  Work() = default;
  template <typename Callable>
  requires(!std::is_same_v<std::remove_cvref_t<Callable>, Work> &&
           // NOLINTNEXTLINE(google-explicit-constructor, bugprone-forwarding-reference-overload)
           std::is_invocable_v<std::remove_cvref_t<Callable>&>) Work(Callable&& callable) {
    using Kept = std::remove_cvref_t<Callable>;
    static_assert(sizeof(Kept) <= kMostBytes && alignof(Kept) <= alignof(std::max_align_t),
                  "let it capture a reference to a struct");
    new (memory_) Kept(std::forward<Callable>(callable));
    call_ = [](void* kept) { (*static_cast<Kept*>(kept))(); };
    move_ = [](void* from, void* to) {
      auto& kept = *static_cast<Kept*>(from);
      if (to != nullptr) new (to) Kept(std::move(kept));
      kept.~Kept();  // NOLINT(bugprone-use-after-move): what is left of it
    };
  }
  Work(Work&& other) noexcept
      : call_(std::exchange(other.call_, nullptr)), move_(std::exchange(other.move_, nullptr)) {
    if (move_ != nullptr) move_(other.memory_, memory_);
  }
  Work& operator=(Work&&) = delete;
  ~Work() {
    if (move_ != nullptr) move_(memory_, nullptr);
  }

  explicit operator bool() const { return call_ != nullptr; }
  /// Nothing happens when it is empty.
  void operator()() const {
    if (call_ != nullptr) call_(memory_);
  }

 private:
  void (*call_)(void* kept) = nullptr;
  void (*move_)(void* from, void* to) = nullptr;  ///< to null: it is destroyed
  alignas(std::max_align_t) mutable std::byte memory_[kMostBytes];
};

}  // namespace syrtos::world

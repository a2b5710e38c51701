#pragma once

#include <cstddef>
#include <string_view>

namespace syrtos {

/// Owns zeroed, page-aligned memory. Large buffers ask the kernel for huge pages: a sweep over the
/// parameters is bound by memory, and address translation is part of that cost.
class Buffer {
 public:
  static constexpr size_t kAlignment = 64;

  Buffer() = default;
  /// Throws RunError naming `purpose` when the machine does not have the memory.
  Buffer(size_t bytes, std::string_view purpose);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() const { return data_; }
  std::byte* bytes() const { return static_cast<std::byte*>(data_); }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
  size_t mapped_ = 0;
};

constexpr size_t align_up(size_t bytes, size_t alignment = Buffer::kAlignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace syrtos

#include "syrtos/tensor/buffer.h"

#include <sys/mman.h>

#include <utility>

#include "syrtos/base/cpu.h"
#include "syrtos/base/error.h"
#include "syrtos/base/format.h"

namespace syrtos {

namespace {
constexpr size_t kHugePage = size_t{2} << 20;
}

Buffer::Buffer(size_t bytes, std::string_view purpose) : size_(bytes) {
  if (bytes == 0) return;
  // The kernel overcommits: a mapping larger than the machine would be granted and the process
  // killed later, so say it now.
  const auto available = static_cast<size_t>(cpu_info().memory_bytes);
  mapped_ = align_up(bytes, bytes >= kHugePage ? kHugePage : size_t{4096});
  void* memory = MAP_FAILED;
  if (mapped_ <= available) {
    memory = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  if (memory == MAP_FAILED) {
    fail_run(
        "not enough memory for {}: needs {}, this machine has {}; use a smaller --input or "
        "--batch, a smaller network or --precision bf16",
        purpose, format_bytes(static_cast<double>(bytes)),
        format_bytes(static_cast<double>(available)));
  }
  if (mapped_ >= kHugePage) madvise(memory, mapped_, MADV_HUGEPAGE);
  data_ = memory;
}

Buffer::~Buffer() {
  if (data_ != nullptr) munmap(data_, mapped_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

}  // namespace syrtos

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace syrtos::data {

/// A file as read-only memory. It may be renamed over or removed meanwhile. When it is cut, the
/// bytes that are gone read as zeros instead of ending the process with SIGBUS, and check() says
/// so: call it after the bytes were used and before anything that was made of them counts.
/// Thread-safe.
class MappedFile {
 public:
  /// Throws RequestError when there is no such file or it is not a regular one.
  explicit MappedFile(std::filesystem::path file);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<const uint8_t> bytes() const { return {data_, size_}; }
  const std::filesystem::path& file() const { return file_; }

  /// Throws RunError with the file, its size when it was mapped and its size now.
  void check() const;

 private:
  void release();

  std::filesystem::path file_;
  int descriptor_ = -1;
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
  size_t slot_ = 0;  ///< in the table that the signal handler reads
};

}  // namespace syrtos::data

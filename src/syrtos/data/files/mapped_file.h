#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace syrtos::data {

/// While one lives, bytes of a MappedFile that are gone because the file was cut read as zeros
/// instead of ending the process with SIGBUS, and check() says so. It takes the process's handler
/// of that signal (what is not about mapped files goes on to the handler of before), so a program
/// makes one, in main, before it starts threads; a library never does.
class CutFileGuard {
 public:
  CutFileGuard();
  ~CutFileGuard();
  CutFileGuard(const CutFileGuard&) = delete;
  CutFileGuard& operator=(const CutFileGuard&) = delete;
};

/// A file as read-only memory. It may be renamed over or removed meanwhile. Thread-safe.
///
/// It may also be cut. Call check_before_use() before bytes are used: without a CutFileGuard it
/// refuses a file that has been cut, and only one that is cut in the very moment of use ends the
/// process. Call check() after bytes were used and before anything that was made of them counts.
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
  /// The same where no CutFileGuard protects; costs nothing where one does.
  void check_before_use() const;

 private:
  void release();

  std::filesystem::path file_;
  int descriptor_ = -1;
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
  size_t slot_ = 0;  ///< in the table that the signal handler reads
};

}  // namespace syrtos::data

#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace syrtos {

/// A file that appears under its name only when it is complete: written beside, brought to disk
/// and renamed by commit(). Without commit() nothing is left behind, and a file that was there
/// stays. All throw RunError that says what failed.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path file);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;

  std::filesystem::path file_;
  std::filesystem::path beside_;
  int descriptor_ = -1;
};

/// A text file that grows by whole lines; each line is written at once.
class LineFile {
 public:
  LineFile() = default;
  /// Opens to append. Throws RunError.
  explicit LineFile(std::filesystem::path file);
  ~LineFile();
  LineFile(LineFile&& other) noexcept;
  LineFile& operator=(LineFile&& other) noexcept;

  /// Adds the newline. A line that cannot be written whole is taken back. Throws RunError.
  void append(std::string_view line);

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace syrtos

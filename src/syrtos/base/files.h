#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <utility>

namespace syrtos {

/// A file that appears under its name only when it is complete: written without a name (or beside,
/// where the file system has no such files), brought to disk and renamed by commit(). Without
/// commit(), also when the process is killed, nothing is left behind, and a file that was there
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
  bool nameless_ = true;
};

/// A file that grows by whole records; each is written at once.
class AppendFile {
 public:
  AppendFile() = default;
  /// Opens to append. Throws RunError.
  explicit AppendFile(std::filesystem::path file);
  ~AppendFile();
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;

  /// A record that cannot be written whole is taken back. Throws RunError.
  void append(std::string_view record);
  const std::filesystem::path& path() const { return file_; }

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

/// A text file that grows by whole lines.
class LineFile {
 public:
  LineFile() = default;
  explicit LineFile(std::filesystem::path file) : file_(std::move(file)) {}

  /// Adds the newline; otherwise as AppendFile::append.
  void append(std::string_view line);

 private:
  AppendFile file_;
};

}  // namespace syrtos

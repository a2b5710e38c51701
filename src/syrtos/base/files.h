#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "syrtos/base/error.h"

namespace syrtos {

/// The disk or a quota is full.
class NoRoom : public RunError {
 public:
  using RunError::RunError;
};

/// What is in a file. Where it cannot be opened or read, `error` is the reason (errno).
struct FileText {
  std::string text = {};
  int error = 0;
};
FileText read_text(const std::filesystem::path& file);

/// A name beside the file, "NAME.<something>.part", that nobody else uses, on other hosts neither.
std::filesystem::path part_of(const std::filesystem::path& file);

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
  /// What was there under the name until now keeps existing as `before`, if that is not empty.
  /// `last_look` is called when everything is on disk and the name is about to change; what it
  /// throws leaves everything as it was.
  void commit(const std::filesystem::path& before = {},
              const std::function<void()>& last_look = {});

 private:
  [[noreturn]] void fail(const char* what) const;

  std::filesystem::path file_;
  std::filesystem::path beside_;
  int descriptor_ = -1;
  bool nameless_ = true;
};

/// Gives a whole file another name, in place of what had that name, without a second copy where the
/// file system allows it; both are on disk when it returns. Throws RunError.
void link_file(const std::filesystem::path& file, const std::filesystem::path& name);

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
  /// Returns when all of it is on disk. What cannot be brought there since the last time is taken
  /// back. Throws RunError.
  void sync();
  const std::filesystem::path& path() const { return file_; }

 private:
  [[noreturn]] void take_back(off_t size) const;

  std::filesystem::path file_;
  int descriptor_ = -1;
  off_t on_disk_ = -1;  // bytes before what is not synced yet; -1: all is
};

/// A text file that grows by whole lines.
class LineFile {
 public:
  LineFile() = default;
  explicit LineFile(std::filesystem::path file) : file_(std::move(file)) {}

  /// Adds the newline; otherwise as AppendFile::append.
  void append(std::string_view line);
  void sync() { file_.sync(); }

 private:
  AppendFile file_;
};

}  // namespace syrtos

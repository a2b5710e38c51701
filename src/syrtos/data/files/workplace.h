#pragma once

#include <filesystem>
#include <string>

namespace syrtos::data {

/// A lock on a file, held until the end of the process at most. Throws RunError when the file
/// cannot be made.
class FileLock {
 public:
  /// Does not wait: see held().
  explicit FileLock(std::filesystem::path file);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  bool held() const { return descriptor_ >= 0; }

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

/// A hidden directory inside another one that is private to this object and gone with it. What a
/// process that was killed left behind is removed by the next one that makes a workplace there.
class Workplace {
 public:
  /// Creates `parent` when it is not there. Throws RunError.
  explicit Workplace(const std::filesystem::path& parent);
  ~Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::filesystem::path lock_file_;
  int lock_ = -1;
};

/// Makes the directory `prepared` appear under the name `place`, at once: nobody sees half of it. A
/// directory that is there is exchanged for it, so that `prepared` holds it afterwards. Throws
/// RunError.
void put_in_place(const std::filesystem::path& prepared, const std::filesystem::path& place);

/// The same where a file system cannot exchange: the old directory stands beside `place` for a
/// moment, as PLACE.old-XXXXXX, where nothing that is killed or cleans up can take it along. False
/// with errno, and the old one back in its place, when that fails.
bool replace_in_steps(const std::filesystem::path& prepared, const std::filesystem::path& place);

}  // namespace syrtos::data

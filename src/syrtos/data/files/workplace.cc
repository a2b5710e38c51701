#include "syrtos/data/files/workplace.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "syrtos/base/error.h"

namespace syrtos::data {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPrefix = ".work-";
constexpr const char* kLockSuffix = ".lock";

enum class Lock { held, taken, impossible };

// Locks an open file without waiting, and makes sure that it still is the one with this name: who
// removes such a file holds its lock. Returns false, with errno, when that is impossible.
Lock lock(int descriptor, const fs::path& file) {
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    return errno == EWOULDBLOCK ? Lock::taken : Lock::impossible;
  }
  struct stat opened {};
  struct stat named {};
  const bool same = fstat(descriptor, &opened) == 0 && stat(file.c_str(), &named) == 0 &&
                    opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
  return same ? Lock::held : Lock::taken;
}

void remove_left_behind(const fs::path& parent) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix) || !name.ends_with(kLockSuffix)) continue;
    const int descriptor = open(entry.path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) continue;
    if (lock(descriptor, entry.path()) == Lock::held) {  // its owner is gone
      const std::string path = entry.path().string();
      fs::remove_all(path.substr(0, path.size() - std::strlen(kLockSuffix)), ignored);
      fs::remove(entry.path(), ignored);
    }
    close(descriptor);
  }
}

void bring_to_disk(const fs::path& directory) {
  const int descriptor = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

}  // namespace

FileLock::FileLock(fs::path file) : file_(std::move(file)) {
  descriptor_ = open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_run("cannot create {}: {}", file_.string(), std::strerror(errno));
  if (lock(descriptor_, file_) == Lock::held) return;
  close(std::exchange(descriptor_, -1));
}

FileLock::~FileLock() {
  if (descriptor_ < 0) return;
  unlink(file_.c_str());
  close(descriptor_);
}

Workplace::Workplace(const fs::path& parent) {
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) {
    fail_run("cannot create {}: {}; choose a directory you may write to", parent.string(),
             error.message());
  }
  remove_left_behind(parent);
  for (;;) {
    std::string name = (parent / (std::string(kPrefix) + "XXXXXX" + kLockSuffix)).string();
    lock_ = mkostemps(name.data(), static_cast<int>(std::strlen(kLockSuffix)), O_CLOEXEC);
    if (lock_ < 0) {
      fail_run("cannot write to {}: {}; choose a directory you may write to", parent.string(),
               std::strerror(errno));
    }
    lock_file_ = name;
    const Lock result = lock(lock_, lock_file_);
    if (result == Lock::held) break;
    const int reason = errno;
    if (result == Lock::impossible) unlink(name.c_str());
    close(std::exchange(lock_, -1));  // taken: another one took it for left behind
    if (result == Lock::impossible) {
      fail_run("cannot lock a file in {}: {}; choose a directory on another file system",
               parent.string(), std::strerror(reason));
    }
  }
  const std::string lock_name = lock_file_.string();
  path_ = lock_name.substr(0, lock_name.size() - std::strlen(kLockSuffix));
  fs::create_directory(path_, error);
  if (error) {
    unlink(lock_file_.c_str());
    close(lock_);
    fail_run("cannot create {}: {}", path_.string(), error.message());
  }
}

Workplace::~Workplace() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  unlink(lock_file_.c_str());
  close(lock_);
}

bool replace_in_steps(const fs::path& prepared, const fs::path& place) {
  std::string old = place.string() + ".old-XXXXXX";
  if (mkdtemp(old.data()) == nullptr) return false;
  const bool aside = rename(place.c_str(), old.c_str()) == 0;
  if (!aside || rename(prepared.c_str(), place.c_str()) != 0) {
    const int reason = errno;
    if (aside) {
      rename(old.c_str(), place.c_str());
    } else {
      rmdir(old.c_str());
    }
    errno = reason;
    return false;
  }
  bring_to_disk(place.parent_path());
  rename(old.c_str(), prepared.c_str());
  return true;
}

void put_in_place(const fs::path& prepared, const fs::path& place) {
  bring_to_disk(prepared);
  // A plain rename replaces an empty directory at most.
  int result = rename(prepared.c_str(), place.c_str());
  if (result != 0 && (errno == EEXIST || errno == ENOTEMPTY)) {
    result = renameat2(AT_FDCWD, prepared.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE);
    // Some file systems cannot exchange.
    if (result != 0 && (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)) {
      result = replace_in_steps(prepared, place) ? 0 : -1;
    }
  }
  if (result != 0) {
    fail_run("cannot rename {} to {}: {}", prepared.string(), place.string(), std::strerror(errno));
  }
  bring_to_disk(place.parent_path());
}

}  // namespace syrtos::data

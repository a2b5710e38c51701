#include "syrtos/base/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "syrtos/base/error.h"

namespace syrtos {

namespace {

bool write_all(int descriptor, const char* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor, data, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    data += written;
    bytes -= static_cast<size_t>(written);
  }
  return true;
}

std::string advice() {
  if (errno == ENOSPC || errno == EDQUOT) return "; free some space or choose another directory";
  if (errno == EACCES || errno == EROFS) return "; choose a directory you may write to";
  return "";
}

std::filesystem::path directory_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path file)
    : file_(std::move(file)), beside_(file_.string() + ".part") {
  descriptor_ = open(directory_of(file_).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (descriptor_ >= 0) return;
  nameless_ = false;
  descriptor_ = open(beside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("create");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  if (!nameless_) unlink(beside_.c_str());
}

void AtomicFile::fail(const char* what) const {
  fail_run("cannot {} {}: {}{}", what, file_.string(), std::strerror(errno), advice());
}

void AtomicFile::write(const void* data, size_t bytes) {
  if (!write_all(descriptor_, static_cast<const char*>(data), bytes)) fail("write");
}

void AtomicFile::commit() {
  if (fsync(descriptor_) != 0) fail("write");
  if (nameless_) {
    // A name can be given once; only renaming replaces a file.
    const std::string self = "/proc/self/fd/" + std::to_string(descriptor_);
    unlink(beside_.c_str());
    if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, beside_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      fail("create");
    }
    nameless_ = false;
  }
  if (rename(beside_.c_str(), file_.c_str()) != 0) fail("rename");
  close(std::exchange(descriptor_, -1));
  // The new name itself must reach the disk too; where that is not supported nothing is lost.
  const int directory = open(directory_of(file_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    fsync(directory);
    close(directory);
  }
}

AppendFile::AppendFile(std::filesystem::path file) : file_(std::move(file)) {
  descriptor_ = open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    fail_run("cannot create {}: {}{}", file_.string(), std::strerror(errno), advice());
  }
}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : file_(std::move(other.file_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void AppendFile::append(std::string_view record) {
  const off_t before = lseek(descriptor_, 0, SEEK_END);
  if (write_all(descriptor_, record.data(), record.size())) return;
  const int reason = errno;
  if (before >= 0 && ftruncate(descriptor_, before) != 0) errno = reason;
  errno = reason;
  fail_run("cannot write {}: {}{}", file_.string(), std::strerror(errno), advice());
}

void LineFile::append(std::string_view line) { file_.append(std::string(line) + '\n'); }

}  // namespace syrtos

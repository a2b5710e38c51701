#include "syrtos/base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <random>
#include <string>
#include <utility>

#include "syrtos/base/descriptor.h"

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

/// Says why, by errno.
[[noreturn]] void fail_file(const char* what, const std::filesystem::path& file) {
  const bool full = errno == ENOSPC || errno == EDQUOT;
  const bool forbidden = errno == EACCES || errno == EROFS;
  const std::string text =
      fmt::format("cannot {} {}: {}{}", what, file.string(), std::strerror(errno),
                  full        ? "; free some space or choose another directory"
                  : forbidden ? "; choose a directory you may write to"
                              : "");
  if (full) throw NoRoom(text);
  throw RunError(text);
}

std::filesystem::path directory_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

/// A new name must reach the disk too; where that is not supported nothing is lost.
void sync_directory_of(const std::filesystem::path& file) {
  const int directory = open(directory_of(file).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  fsync(directory);
  close(directory);
}

}  // namespace

FileText read_text(const std::filesystem::path& file) {
  const Descriptor from(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!from.valid()) return {.error = errno};
  FileText found;
  for (std::array<char, 1 << 16> some;;) {
    const ssize_t bytes = read(from.get(), some.data(), some.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return {.error = errno};
    if (bytes == 0) return found;
    found.text.append(some.data(), static_cast<size_t>(bytes));
  }
}

std::filesystem::path part_of(const std::filesystem::path& file) {
  return fmt::format("{}.{:08x}.part", file.string(), std::random_device{}());
}

AtomicFile::AtomicFile(std::filesystem::path file)
    : file_(std::move(file)), beside_(part_of(file_)) {
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

void AtomicFile::fail(const char* what) const { fail_file(what, file_); }

void AtomicFile::write(const void* data, size_t bytes) {
  if (!write_all(descriptor_, static_cast<const char*>(data), bytes)) fail("write");
}

void AtomicFile::commit(const std::filesystem::path& before,
                        const std::function<void()>& last_look) {
  if (fsync(descriptor_) != 0) fail("write");
  if (last_look) last_look();
  if (!before.empty() && access(file_.c_str(), F_OK) == 0) link_file(file_, before);
  if (nameless_) {
    // A name can be given once; only renaming replaces a file.
    const std::string self = "/proc/self/fd/" + std::to_string(descriptor_);
    if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, beside_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      fail("create");
    }
    nameless_ = false;
  }
  if (rename(beside_.c_str(), file_.c_str()) != 0) fail("rename");
  close(std::exchange(descriptor_, -1));
  sync_directory_of(file_);
}

void link_file(const std::filesystem::path& file, const std::filesystem::path& name) {
  const std::filesystem::path beside = part_of(name);
  if (link(file.c_str(), beside.c_str()) != 0) {
    std::error_code error;
    std::filesystem::copy_file(file, beside, error);
    const int copy = open(beside.c_str(), O_RDONLY | O_CLOEXEC);
    const bool whole = !error && copy >= 0 && fsync(copy) == 0;
    const int reason = error ? error.value() : errno;
    if (copy >= 0) close(copy);
    if (!whole) {
      unlink(beside.c_str());
      errno = reason;
      fail_file("write", name);
    }
  }
  // Two names of one file are not renamed over each other: the first would stay.
  const int failed = rename(beside.c_str(), name.c_str());
  const int reason = errno;
  unlink(beside.c_str());
  errno = reason;
  if (failed != 0) fail_file("write", name);
  sync_directory_of(name);
}

AppendFile::AppendFile(std::filesystem::path file) : file_(std::move(file)) {
  descriptor_ = open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
  if (descriptor_ < 0) fail_file("create", file_);
}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : file_(std::move(other.file_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      on_disk_(other.on_disk_) {}

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(on_disk_, other.on_disk_);
  return *this;
}

void AppendFile::append(std::string_view record) {
  const off_t before = lseek(descriptor_, 0, SEEK_END);
  if (on_disk_ < 0) on_disk_ = before;
  if (!write_all(descriptor_, record.data(), record.size())) take_back(before);
}

void AppendFile::sync() {
  // Pipes and the like have no disk.
  if (fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) take_back(on_disk_);
  on_disk_ = -1;
}

void AppendFile::take_back(off_t size) const {
  const int reason = errno;
  if (size >= 0) (void)!ftruncate(descriptor_, size);  // what fails is said below
  errno = reason;
  fail_file("write", file_);
}

void LineFile::append(std::string_view line) { file_.append(std::string(line) + '\n'); }

}  // namespace syrtos

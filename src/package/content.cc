#include "package/content.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace syrtos::package {

namespace {

// "syrtos-package 1 <begin> <bytes> <hash>", padded with blanks, ends the file.
constexpr size_t kTrailer = 160;
constexpr const char* kMark = "syrtos-package 1 ";
constexpr size_t kBlock = 512;  // of a tar archive
constexpr const char* kComplete = "/complete";

std::string error_of(const std::string& what) { return what + ": " + std::strerror(errno); }

/// The bytes of the archive, one after the other.
class Stream {
 public:
  Stream(const void* data, size_t bytes)
      : in_{data, bytes, 0}, context_(ZSTD_createDStream(), ZSTD_freeDStream) {
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, 31);
  }

  /// False: it ends earlier, or is damaged.
  bool read(char* to, size_t bytes) {
    ZSTD_outBuffer out{to, bytes, 0};
    while (out.pos < bytes) {
      const size_t before = in_.pos + out.pos;
      const size_t code = ZSTD_decompressStream(context_.get(), &out, &in_);
      if (ZSTD_isError(code) != 0 || (in_.pos + out.pos == before && out.pos < bytes)) return false;
    }
    return true;
  }

  /// Reads what is left, behind which the checksum is.
  bool finish() {
    std::vector<char> rest(size_t{1} << 16);
    for (;;) {
      ZSTD_outBuffer out{rest.data(), rest.size(), 0};
      const size_t code = ZSTD_decompressStream(context_.get(), &out, &in_);
      if (ZSTD_isError(code) != 0) return false;
      if (code == 0) return in_.pos == in_.size;
      if (out.pos == 0 && in_.pos == in_.size) return false;
    }
  }

 private:
  ZSTD_inBuffer in_;
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> context_;
};

/// A file's size, name and kind from its header (POSIX ustar, names of at most 100 characters).
struct Entry {
  std::string name;
  uint64_t bytes;
  char kind;
  bool executable;
};

Entry read_header(const char* block) {
  const auto text = [block](size_t at, size_t length) {
    return std::string(block + at, strnlen(block + at, length));
  };
  return {.name = text(0, 100),
          .bytes = std::strtoull(text(124, 12).c_str(), nullptr, 8),
          .kind = block[156],
          .executable = (std::strtoul(text(100, 8).c_str(), nullptr, 8) & 0100U) != 0};
}

std::string write_file(Stream& stream, const Entry& entry, const std::string& path) {
  const int file =
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, entry.executable ? 0755 : 0644);
  if (file < 0) return error_of(path);
  std::vector<char> buffer(size_t{1} << 18);
  std::string problem;
  uint64_t left = (entry.bytes + kBlock - 1) / kBlock * kBlock;
  uint64_t to_write = entry.bytes;
  while (left > 0 && problem.empty()) {
    const size_t now = std::min<uint64_t>(left, buffer.size());
    if (!stream.read(buffer.data(), now)) problem = "the package is damaged";
    left -= now;
    size_t written = 0;
    const size_t mine = std::min<uint64_t>(now, to_write);
    while (written < mine && problem.empty()) {
      const ssize_t count = write(file, buffer.data() + written, mine - written);
      if (count < 0 && errno != EINTR) problem = error_of(path);
      if (count > 0) written += static_cast<size_t>(count);
    }
    to_write -= mine;
  }
  if (close(file) != 0 && problem.empty()) problem = error_of(path);
  return problem;
}

std::string write_list(const std::string& directory, const std::string& list) {
  const std::string path = directory + kComplete;
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return error_of(path);
  // What comes before must be on the disk before this says so.
  syncfs(file);
  const bool good = write(file, list.data(), list.size()) == static_cast<ssize_t>(list.size());
  return close(file) == 0 && good ? "" : error_of(path);
}

std::string unpack_archive(Stream& stream, const std::string& directory) {
  std::string list;
  for (;;) {
    char block[kBlock];
    if (!stream.read(block, sizeof(block))) return "the package is damaged";
    const Entry entry = read_header(block);
    if (entry.name.empty()) break;
    const bool leads_out = entry.name[0] == '/' || entry.name.find("..") != std::string::npos;
    if (leads_out) return "the package is damaged";
    const std::string path = directory + "/" + entry.name;
    if (entry.kind == '5') {
      if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return error_of(path);
      continue;
    }
    if (entry.kind != '0') return "the package is damaged";
    std::string problem = write_file(stream, entry, path);
    if (!problem.empty()) return problem;
    list += std::to_string(entry.bytes) + " " + entry.name + "\n";
  }
  if (!stream.finish()) return "the package is damaged";
  return write_list(directory, list);
}

}  // namespace

Content find_content(int file, uint64_t file_bytes) {
  Content content;
  char trailer[kTrailer + 1] = {};
  char hash[65] = {};
  unsigned long long begin = 0;
  unsigned long long bytes = 0;
  const bool read = file_bytes > kTrailer &&
                    pread(file, trailer, kTrailer, static_cast<off_t>(file_bytes - kTrailer)) ==
                        static_cast<ssize_t>(kTrailer);
  if (!read || std::strncmp(trailer, kMark, std::strlen(kMark)) != 0 ||
      std::sscanf(trailer + std::strlen(kMark), "%llu %llu %64[0-9a-f]", &begin, &bytes, hash) !=
          3 ||
      begin + bytes + kTrailer != file_bytes) {
    content.problem = "expected a package to its last byte, found one that was cut: copy it again";
    return content;
  }
  content.begin = begin;
  content.bytes = bytes;
  content.hash = hash;
  return content;
}

std::string unpack(int file, const Content& content, const std::string& directory) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t from = content.begin / page * page;
  const size_t length = content.begin - from + content.bytes;
  void* mapped = mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file, static_cast<off_t>(from));
  if (mapped == MAP_FAILED) return error_of("the package cannot be read");
  Stream stream(static_cast<const char*>(mapped) + (content.begin - from), content.bytes);
  std::string problem = unpack_archive(stream, directory);
  munmap(mapped, length);
  return problem;
}

bool is_complete(const std::string& directory) {
  FILE* list = std::fopen((directory + kComplete).c_str(), "re");
  if (list == nullptr) return false;
  unsigned long long bytes = 0;
  char name[101];
  int files = 0;
  bool good = true;
  while (good && std::fscanf(list, "%llu %100s\n", &bytes, name) == 2) {
    struct stat found {};
    good = stat((directory + "/" + name).c_str(), &found) == 0 &&
           static_cast<unsigned long long>(found.st_size) == bytes;
    ++files;
  }
  std::fclose(list);
  return good && files > 0;
}

}  // namespace syrtos::package

#include "syrtos/data/files/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include "syrtos/base/error.h"

namespace syrtos::data {

namespace fs = std::filesystem;

namespace {

constexpr size_t kArchiveChunk = size_t{1} << 18;

/// Feeds libarchive from zlib, which passes plain files on unchanged and, unlike libarchive, checks
/// gzip's checksum.
class Stream {
 public:
  explicit Stream(const fs::path& file)
      : handle_(gzopen(file.c_str(), "rb")), buffer_(kArchiveChunk) {
    if (handle_ == nullptr) fail_request("cannot read {}: {}", file.string(), std::strerror(errno));
    gzbuffer(handle_.get(), 1U << 18);
  }

  /// Bytes that were read into *buffer, 0 at the end, -1 for an error().
  la_ssize_t next(const void** buffer) {
    *buffer = buffer_.data();
    const int got = gzread(handle_.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
    int code = Z_OK;
    const char* message = gzerror(handle_.get(), &code);
    if (got < 0 || code != Z_OK) {
      error_ = code == Z_ERRNO ? std::strerror(errno) : message;
      return -1;
    }
    return got;
  }
  const std::string& error() const { return error_; }
  /// The offset that was reached in the compressed file.
  int64_t offset() const { return gzoffset(handle_.get()); }

 private:
  struct Close {
    void operator()(gzFile file) const { gzclose(file); }
  };
  std::unique_ptr<gzFile_s, Close> handle_;
  std::vector<uint8_t> buffer_;
  std::string error_;
};

class ArchiveReader {
 public:
  explicit ArchiveReader(const fs::path& file)
      : file_(file.string()), archive_(archive_read_new()) {
    SYRTOS_CHECK(archive_ != nullptr);
    std::array<char, 2> magic = {};
    std::ifstream(file, std::ios::binary).read(magic.data(), magic.size());
    int code = ARCHIVE_OK;
    if (magic[0] == 'P' && magic[1] == 'K') {
      archive_read_support_format_zip(archive_.get());
      code = archive_read_open_filename(archive_.get(), file.c_str(), kArchiveChunk);
    } else {
      stream_ = std::make_unique<Stream>(file);
      archive_read_support_format_tar(archive_.get());
      const auto read = [](archive*, void* stream, const void** buffer) {
        return static_cast<Stream*>(stream)->next(buffer);
      };
      code = archive_read_open(archive_.get(), stream_.get(), nullptr, read, nullptr);
    }
    if (code != ARCHIVE_OK) fail();
  }

  /// The next file's name, empty at the end.
  std::string next() {
    while (true) {
      archive_entry* entry = nullptr;
      const int code = archive_read_next_header(archive_.get(), &entry);
      if (code == ARCHIVE_EOF) {
        finish();
        return "";
      }
      if (code != ARCHIVE_OK && code != ARCHIVE_WARN) fail();
      const char* path = archive_entry_pathname(entry);
      if (path == nullptr || archive_entry_filetype(entry) != AE_IFREG) continue;
      std::string name = fs::path(path).filename().string();
      announced_ = archive_entry_size_is_set(entry) != 0 ? archive_entry_size(entry) : 0;
      if (!name.empty()) return name;
    }
  }

  std::vector<uint8_t> read(const std::string& name, size_t most_bytes) {
    if (announced_ > 0 && static_cast<uint64_t>(announced_) > most_bytes) {
      fail_request("{}: {}: expected at most {} bytes, found {}", file_, name, most_bytes,
                   announced_);
    }
    std::vector<uint8_t> bytes;
    while (true) {
      const size_t before = bytes.size();
      bytes.resize(before + kArchiveChunk);
      const la_ssize_t got =
          archive_read_data(archive_.get(), bytes.data() + before, kArchiveChunk);
      if (got < 0) fail();
      bytes.resize(before + static_cast<size_t>(got));
      if (bytes.size() > most_bytes) {
        fail_request("{}: {}: expected at most {} bytes, found more", file_, name, most_bytes);
      }
      if (got == 0) return bytes;
    }
  }

 private:
  [[noreturn]] void fail() const {
    const char* text = archive_error_string(archive_.get());
    const bool compressed = stream_ && !stream_->error().empty();
    const int64_t offset =
        stream_ ? stream_->offset() : archive_read_header_position(archive_.get());
    fail_request(
        "{}: expected a tar (plain or gzip) or zip archive, found damage near offset {}: {}", file_,
        offset,
        compressed        ? stream_->error()
        : text == nullptr ? "unknown"
                          : text);
  }

  // The archive may end before its compressed stream, which has the checksum at its end.
  void finish() {
    if (!stream_) return;
    const void* ignored = nullptr;
    la_ssize_t got = 1;
    while (got > 0) got = stream_->next(&ignored);
    if (got < 0) fail();
  }

  struct Free {
    void operator()(archive* a) const { archive_read_free(a); }
  };
  std::string file_;
  int64_t announced_ = 0;           // bytes of the file that is next
  std::unique_ptr<Stream> stream_;  // outlives archive_, which reads from it
  std::unique_ptr<archive, Free> archive_;
};

}  // namespace

bool has_archive_name(const fs::path& file) {
  const std::string name = file.filename().string();
  for (const char* suffix : {".tar", ".tar.gz", ".tgz", ".zip"}) {
    if (name.ends_with(suffix)) return true;
  }
  return false;
}

bool has_member(const fs::path& archive, const Wanted& wanted) {
  ArchiveReader reader(archive);
  for (std::string name = reader.next(); !name.empty(); name = reader.next()) {
    if (wanted(name)) return true;
  }
  return false;
}

Members read_members(const fs::path& archive, const Wanted& wanted, size_t most_bytes) {
  ArchiveReader reader(archive);
  Members members;
  for (std::string name = reader.next(); !name.empty(); name = reader.next()) {
    if (!wanted(name)) continue;
    if (members.contains(name)) {
      fail_request("{}: expected one file {}, found two", archive.string(), name);
    }
    std::vector<uint8_t> bytes = reader.read(name, most_bytes);
    most_bytes -= bytes.size();
    members.emplace(name, std::move(bytes));
  }
  return members;
}

}  // namespace syrtos::data

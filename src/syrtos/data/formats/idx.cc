#include "syrtos/data/formats/idx.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "syrtos/base/error.h"

namespace syrtos::data {

namespace {

constexpr size_t kIdxChunk = size_t{1} << 20;
constexpr int64_t kMostIdxValues = int64_t{1} << 40;

/// Reads a file through zlib, which passes plain files on unchanged. Offsets are in the data after
/// decompression.
class IdxReader {
 public:
  explicit IdxReader(const std::filesystem::path& file)
      : file_(file), handle_(gzopen(file.c_str(), "rb")) {
    if (handle_ == nullptr) {
      fail_request("cannot read {}: {}", file.string(), std::strerror(errno));
    }
    gzbuffer(handle_.get(), 1U << 18);
  }

  /// Up to n bytes; fewer only at the end of the file.
  size_t read(uint8_t* to, size_t n) {
    const int got = gzread(handle_.get(), to, static_cast<unsigned>(n));
    int code = Z_OK;
    const char* message = gzerror(handle_.get(), &code);
    if (got < 0 || (code != Z_OK && code != Z_BUF_ERROR)) {
      fail_request("{}: damaged at offset {}: {}", name(), offset_,
                   code == Z_ERRNO ? std::strerror(errno) : message);
    }
    offset_ += got;
    return static_cast<size_t>(got);
  }

  uint32_t read_word(const char* what) {
    uint8_t bytes[4] = {};
    const size_t got = read(bytes, 4);
    if (got != 4) {
      fail_request(
          "{}: truncated at offset {}: expected the {} (4 bytes), found the end of the file",
          name(), offset_, what);
    }
    return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
  }

  std::string name() const { return file_.string(); }
  int64_t offset() const { return offset_; }

 private:
  struct Close {
    void operator()(gzFile file) const { gzclose(file); }
  };
  std::filesystem::path file_;
  std::unique_ptr<gzFile_s, Close> handle_;
  int64_t offset_ = 0;
};

}  // namespace

IdxBytes read_idx(const std::filesystem::path& file, int rank) {
  IdxReader reader(file);
  const uint32_t expected_magic = 0x0800U | static_cast<uint32_t>(rank);
  const uint32_t magic = reader.read_word("magic number");
  if (magic != expected_magic) {
    fail_request(
        "{}: not an IDX file of bytes with {} axes: at offset 0 expected 0x{:08x}, found 0x{:08x}",
        reader.name(), rank, expected_magic, magic);
  }
  IdxBytes result;
  int64_t count = 1;
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t at = reader.offset();
    result.extents.push_back(reader.read_word("extent of an axis"));
    if (result.extents.back() < 1 || result.extents.back() > kMostIdxValues / count) {
      fail_request("{}: at offset {} expected an extent that makes 1 to {} values, found {}",
                   reader.name(), at, kMostIdxValues, result.extents.back());
    }
    count *= result.extents.back();
  }
  while (static_cast<int64_t>(result.values.size()) < count) {
    const size_t before = result.values.size();
    result.values.resize(before + std::min(kIdxChunk, static_cast<size_t>(count) - before));
    const size_t got = reader.read(result.values.data() + before, result.values.size() - before);
    if (before + got < result.values.size()) {
      fail_request("{}: truncated at offset {}: expected {} values after the header, found {}",
                   reader.name(), reader.offset(), count, before + got);
    }
  }
  uint8_t extra = 0;
  if (reader.read(&extra, 1) != 0) {
    fail_request("{}: expected the end of the file at offset {}, found more bytes", reader.name(),
                 reader.offset() - 1);
  }
  return result;
}

}  // namespace syrtos::data

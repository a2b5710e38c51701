#include "syrtos/trace/text_input.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "syrtos/base/error.h"

namespace syrtos::trace {

namespace {
constexpr unsigned kPiece = 1 << 16;
constexpr int64_t kMostBytes = int64_t{1} << 33;  // a small file may unpack to anything
}  // namespace

TextInput::TextInput(const std::filesystem::path& file, std::string_view what) : buffer_(kPiece) {
  std::error_code ignored;
  const bool directory = std::filesystem::is_directory(file, ignored);
  handle_ = directory ? nullptr : gzopen(file.c_str(), "rb");
  if (handle_ == nullptr) {
    fail_request("cannot open {}: expected {}, found {}", file.string(), what,
                 directory ? "a directory" : std::strerror(errno));
  }
  gzbuffer(handle_, kPiece);
  refill();
}

TextInput::~TextInput() { gzclose(handle_); }

void TextInput::refill() {
  before_ += static_cast<int64_t>(size_);
  next_ = size_ = 0;
  if (before_ > kMostBytes) {
    failure_ = "more than 8 GB";
    return;
  }
  const int read = gzread(handle_, buffer_.data(), kPiece);
  int code = Z_OK;
  const char* reason = gzerror(handle_, &code);
  if (read > 0) {
    size_ = static_cast<size_t>(read);
  } else if (code != Z_OK && code != Z_STREAM_END) {
    failure_ = code == Z_ERRNO ? std::strerror(errno) : reason;
  }
}

}  // namespace syrtos::trace

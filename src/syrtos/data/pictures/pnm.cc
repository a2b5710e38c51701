#include "syrtos/data/pictures/pnm.h"

#include <algorithm>
#include <cctype>

#include "syrtos/base/error.h"

namespace syrtos::data {

namespace {

constexpr uint64_t kMostSideOfPnm = 1 << 26;

/// The header of a PNM file: numbers between white space and comments.
class Header {
 public:
  Header(std::span<const uint8_t> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  uint64_t number(const char* what, uint64_t most) {
    int c = next();
    while (std::isspace(c) != 0 || c == '#') {
      if (c == '#') {
        while (c != '\n' && c != kEnd) c = next();
      } else {
        c = next();
      }
    }
    const size_t at = offset_ - 1;
    uint64_t value = 0;
    int digits = 0;
    for (; c >= '0' && c <= '9' && digits < 9; c = next(), ++digits) {
      value = value * 10 + static_cast<uint64_t>(c - '0');
    }
    if (digits == 0 || std::isspace(c) == 0 || value < 1 || value > most) {
      fail_request("{}: at offset {} expected the {}, 1 to {}, found {}", name_, at, what, most,
                   digits > 0  ? std::to_string(value)
                   : c == kEnd ? "the end of the file"
                               : "something else");
    }
    return value;
  }

  /// Where the pixels begin, after all numbers.
  size_t offset() const { return offset_; }

 private:
  static constexpr int kEnd = -1;

  int next() {
    const int c = offset_ < bytes_.size() ? bytes_[offset_] : kEnd;
    ++offset_;
    return c;
  }

  std::span<const uint8_t> bytes_;
  const std::string& name_;
  size_t offset_ = 2;  // after the magic, which the caller has seen
};

}  // namespace

namespace {

void read_size(Header& header, std::span<const uint8_t> bytes, const std::string& name,
               Picture& picture) {
  SYRTOS_CHECK(bytes.size() >= 2);
  picture.channels = bytes[1] == '5' ? 1 : 3;
  const uint64_t width = header.number("width", kMostSideOfPnm);
  const uint64_t height = header.number("height", kMostSideOfPnm);
  check_picture_size(name, height, width);
  picture.height = static_cast<int64_t>(height);
  picture.width = static_cast<int64_t>(width);
}

}  // namespace

void look_at_pnm(std::span<const uint8_t> bytes, const std::string& name, Picture& picture) {
  Header header(bytes, name);
  read_size(header, bytes, name, picture);
}

void decode_pnm(std::span<const uint8_t> bytes, const std::string& name, Picture& picture) {
  Header header(bytes, name);
  read_size(header, bytes, name, picture);
  const uint64_t levels = header.number("largest value", 255);
  const auto size = static_cast<uint64_t>(picture.height * picture.width * picture.channels);
  const uint64_t left = bytes.size() - header.offset();
  if (left < size) {
    fail_request("{}: truncated: at offset {} expected {} bytes of pixels, found {}", name,
                 header.offset(), size, left);
  }
  const auto from = bytes.subspan(header.offset(), size);
  picture.pixels.assign(from.begin(), from.end());
  if (levels < 255) {
    for (uint8_t& pixel : picture.pixels) {
      pixel = static_cast<uint8_t>(std::min<uint64_t>(255, pixel * 255 / levels));
    }
  }
}

}  // namespace syrtos::data

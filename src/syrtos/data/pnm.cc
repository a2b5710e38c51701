#include "syrtos/data/pnm.h"

#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "syrtos/base/error.h"

namespace syrtos::data {

namespace {

constexpr int64_t kMaxSide = 1 << 15;

/// The header of a PNM file: numbers between white space and comments.
class Header {
 public:
  Header(std::ifstream& in, std::string file) : in_(in), file_(std::move(file)) {}

  int64_t number(const char* what, int64_t most) {
    int c = next();
    while (std::isspace(c) != 0 || c == '#') {
      while (c == '#' && c != '\n' && c != EOF) {
        do {
          c = next();
        } while (c != '\n' && c != EOF);
      }
      c = next();
    }
    const int64_t at = offset_ - 1;
    int64_t value = 0;
    int digits = 0;
    for (; c >= '0' && c <= '9' && digits < 9; c = next(), ++digits) value = value * 10 + c - '0';
    if (digits == 0 || std::isspace(c) == 0 || value < 1 || value > most) {
      fail_request("{}: at offset {} expected the {}, 1 to {}, found something else", file_, at,
                   what, most);
    }
    return value;
  }

  int next() {
    ++offset_;
    return in_.get();
  }
  int64_t offset() const { return offset_; }

 private:
  std::ifstream& in_;
  std::string file_;
  int64_t offset_ = 0;
};

}  // namespace

Picture read_pnm(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::error_code error;
  const bool regular = std::filesystem::is_regular_file(file, error);
  if (!in || !regular) {
    fail_request("cannot read the image {}: {}", file.string(),
                 regular || error ? std::strerror(errno) : "not a file");
  }
  Header header(in, file.string());
  const int magic = header.next();
  const int kind = header.next();
  if (magic != 'P' || (kind != '5' && kind != '6')) {
    fail_request(
        "{}: at offset 0 expected a PGM or PPM image (\"P5\" or \"P6\"), found something "
        "else; convert it, for example with: convert IMAGE image.pgm",
        file.string());
  }
  Picture picture;
  picture.channels = kind == '5' ? 1 : 3;
  picture.width = header.number("width", kMaxSide);
  picture.height = header.number("height", kMaxSide);
  const int64_t levels = header.number("largest value", 255);
  const int64_t bytes = picture.width * picture.height * picture.channels;
  const auto left = static_cast<int64_t>(std::filesystem::file_size(file)) - header.offset();
  if (left < bytes) {
    fail_request("{}: truncated: at offset {} expected {} bytes of pixels, found {}", file.string(),
                 header.offset(), bytes, left);
  }
  picture.pixels.resize(static_cast<size_t>(bytes));
  in.read(reinterpret_cast<char*>(picture.pixels.data()), bytes);
  if (!in) fail_request("{}: cannot read the pixels", file.string());
  if (levels < 255) {
    for (uint8_t& pixel : picture.pixels) {
      pixel = static_cast<uint8_t>(std::min<int64_t>(255, pixel * 255 / levels));
    }
  }
  return picture;
}

}  // namespace syrtos::data

#include "syrtos/data/pictures/png.h"

#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "syrtos/base/error.h"
#include "syrtos/data/pictures/alpha.h"

namespace syrtos::data {

namespace {

constexpr uint32_t kMostSide = 1U << 26;

/// What libpng's jumps carry: as in jpeg.cc, nothing with a destructor lives across them.
struct Message {
  char text[160] = "out of memory";

  static void fail(png_structp png, png_const_charp text) {
    auto* self = static_cast<Message*>(png_get_error_ptr(png));
    std::snprintf(self->text, sizeof self->text, "%s", text);
    png_longjmp(png, 1);
  }
  static void ignore(png_structp /*png*/, png_const_charp /*text*/) {}
};

class PngDecoder {
 public:
  explicit PngDecoder(std::span<const uint8_t> bytes) : bytes_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &message_, Message::fail, Message::ignore);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  /// Reads the header and asks for 8 bits per channel. False: see text().
  bool open() {
    if (info_ == nullptr || setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_user_limits(png_, kMostSide, kMostSide);
    png_set_read_fn(png_, this, [](png_structp png, png_bytep to, size_t n) {
      auto* self = static_cast<PngDecoder*>(png_get_io_ptr(png));
      if (n > self->bytes_.size() - self->offset_) png_error(png, "the end of the file");
      std::memcpy(to, self->bytes_.data() + self->offset_, n);
      self->offset_ += n;
    });
    png_read_info(png_, info_);
    stored_row_ = png_get_rowbytes(png_, info_);
    png_set_expand(png_);
    png_set_scale_16(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  bool decode(uint8_t* pixels, size_t row_bytes) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    for (int pass = 0; pass < passes_; ++pass) {
      for (size_t y = 0; y < height(); ++y) png_read_row(png_, pixels + y * row_bytes, nullptr);
    }
    png_read_end(png_, nullptr);
    return true;
  }

  uint64_t height() const { return png_get_image_height(png_, info_); }
  uint64_t width() const { return png_get_image_width(png_, info_); }
  size_t channels() const { return png_get_channels(png_, info_); }
  /// Whether the file is too short for the picture, however well it is compressed.
  bool promises_too_much() const {
    constexpr uint64_t kBestRatio = 1032;  // of deflate
    return height() * stored_row_ > kBestRatio * bytes_.size();
  }
  size_t offset() const { return offset_; }
  const char* text() const { return message_.text; }

 private:
  std::span<const uint8_t> bytes_;
  size_t offset_ = 0;
  size_t stored_row_ = 0;
  int passes_ = 1;
  Message message_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

class Encoder {
 public:
  Encoder() {
    png_ =
        png_create_write_struct(PNG_LIBPNG_VER_STRING, &message_, Message::fail, Message::ignore);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  ~Encoder() { png_destroy_write_struct(&png_, &info_); }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  bool encode(const Picture& picture) {
    if (info_ == nullptr || setjmp(png_jmpbuf(png_)) != 0) return false;
    const auto append = [](png_structp png, png_bytep from, size_t n) {
      auto* bytes = static_cast<std::vector<uint8_t>*>(png_get_io_ptr(png));
      bytes->insert(bytes->end(), from, from + n);
    };
    png_set_write_fn(png_, &bytes_, append, [](png_structp) {});
    png_set_IHDR(png_, info_, static_cast<uint32_t>(picture.width),
                 static_cast<uint32_t>(picture.height), 8,
                 picture.channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png_, info_);
    for (int64_t y = 0; y < picture.height; ++y) {
      png_write_row(png_, picture.pixels.data() + y * picture.width * picture.channels);
    }
    png_write_end(png_, info_);
    return true;
  }

  std::vector<uint8_t> take() { return std::move(bytes_); }
  const char* text() const { return message_.text; }

 private:
  std::vector<uint8_t> bytes_;
  Message message_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

namespace {

[[noreturn]] void fail(const PngDecoder& decoder, size_t bytes, const std::string& name) {
  fail_request("{}: expected a whole PNG picture, found at offset {} of {}: {}", name,
               decoder.offset(), bytes, decoder.text());
}

void open(PngDecoder& decoder, size_t bytes, const std::string& name, Picture& picture) {
  if (!decoder.open()) fail(decoder, bytes, name);
  check_picture_size(name, decoder.height(), decoder.width());
  if (decoder.promises_too_much()) {
    fail_request("{}: truncated: expected a PNG picture of {}x{} (width x height), found {} bytes",
                 name, decoder.width(), decoder.height(), bytes);
  }
  picture.height = static_cast<int64_t>(decoder.height());
  picture.width = static_cast<int64_t>(decoder.width());
  picture.channels = decoder.channels() <= 2 ? 1 : 3;
}

}  // namespace

void look_at_png(std::span<const uint8_t> bytes, const std::string& name, Picture& picture) {
  PngDecoder decoder(bytes);
  open(decoder, bytes.size(), name, picture);
}

void decode_png(std::span<const uint8_t> bytes, const std::string& name, Picture& picture) {
  PngDecoder decoder(bytes);
  open(decoder, bytes.size(), name, picture);
  const size_t channels = decoder.channels();
  const size_t row = decoder.width() * channels;
  picture.pixels.resize(decoder.height() * row);
  if (!decoder.decode(picture.pixels.data(), row)) fail(decoder, bytes.size(), name);
  if (channels % 2 == 0) lay_over_black(picture.pixels, channels);
}

std::vector<uint8_t> encode_png(const Picture& picture, const std::string& name) {
  SYRTOS_CHECK(picture.channels == 1 || picture.channels == 3, "{}", picture.channels);
  SYRTOS_CHECK(static_cast<int64_t>(picture.pixels.size()) ==
               picture.height * picture.width * picture.channels);
  Encoder encoder;
  if (!encoder.encode(picture)) fail_run("cannot write {}: {}", name, encoder.text());
  return encoder.take();
}

}  // namespace syrtos::data

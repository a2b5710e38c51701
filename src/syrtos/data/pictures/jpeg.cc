#include "syrtos/data/pictures/jpeg.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>

// These need <cstdio> before them.
#include <jpeglib.h>
// and this needs the one above.
#include <jerror.h>

#include "syrtos/base/error.h"

namespace syrtos::data {

namespace {

// Each scan of a progressive file goes over the whole picture; real ones have about ten.
constexpr int kMostScans = 200;

/// libjpeg reports by a jump. Between setjmp and the jump no object with a destructor lives: all
/// state is in this class.
class JpegDecoder {
 public:
  explicit JpegDecoder(std::span<const uint8_t> bytes) : bytes_(bytes) {
    state_.err = jpeg_std_error(&errors_);
    state_.client_data = this;
    errors_.error_exit = [](j_common_ptr state) {
      JpegDecoder& self = of(state);
      state->err->format_message(state, self.text_);
      std::longjmp(self.jump_, 1);
    };
    errors_.emit_message = [](j_common_ptr state, int level) {
      if (level < 0 && is_damage(state->err->msg_code)) state->err->error_exit(state);
    };
    errors_.output_message = [](j_common_ptr) {};
    progress_.progress_monitor = [](j_common_ptr state) {
      JpegDecoder& self = of(state);
      if (self.state_.input_scan_number <= kMostScans) return;
      std::snprintf(self.text_, sizeof self.text_, "more than %d scans", kMostScans);
      std::longjmp(self.jump_, 1);
    };
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&state_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  /// Reads the header and decides on the colours to come out. False: see text().
  bool open() {
    if (setjmp(jump_) != 0) return false;
    jpeg_create_decompress(&state_);
    state_.progress = &progress_;
    jpeg_mem_src(&state_, bytes_.data(), bytes_.size());
    jpeg_read_header(&state_, TRUE);
    const J_COLOR_SPACE colours = state_.jpeg_color_space;
    if (colours == JCS_CMYK || colours == JCS_YCCK) {
      state_.out_color_space = JCS_CMYK;
    } else {
      state_.out_color_space = colours == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
    }
    return true;
  }

  bool decode(uint8_t* pixels, size_t row_bytes) {
    if (setjmp(jump_) != 0) return false;
    jpeg_start_decompress(&state_);
    while (state_.output_scanline < state_.output_height) {
      JSAMPROW row = pixels + state_.output_scanline * row_bytes;
      jpeg_read_scanlines(&state_, &row, 1);
    }
    jpeg_finish_decompress(&state_);
    return true;
  }

  uint64_t height() const { return state_.image_height; }
  uint64_t width() const { return state_.image_width; }
  /// How many channels decode() writes: 1, 3, or 4 for CMYK.
  size_t components() const {
    if (state_.out_color_space == JCS_CMYK) return 4;
    return state_.out_color_space == JCS_GRAYSCALE ? 1 : 3;
  }
  /// Adobe's programs, and all that follow them, store CMYK inverted.
  bool inverted() const { return state_.saw_Adobe_marker != 0; }
  /// Whether the file is too short for the picture. Each 8x8 block of the component with most of
  /// them costs one bit or more, 512 pixels per byte; odd samplings may halve their number.
  /// Arithmetic coding knows no such bound.
  bool promises_too_much() const {
    constexpr uint64_t kPixelsPerByte = 1024;
    return state_.arith_code == 0 && height() * width() > kPixelsPerByte * bytes_.size();
  }
  const char* text() const { return text_; }
  size_t offset() const {
    return state_.src == nullptr
               ? 0
               : bytes_.size() - std::min(state_.src->bytes_in_buffer, bytes_.size());
  }

 private:
  static JpegDecoder& of(j_common_ptr state) {
    return *static_cast<JpegDecoder*>(state->client_data);
  }
  static bool is_damage(int code) {
    return code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE ||
           code == JWRN_ARITH_BAD_CODE || code == JWRN_MUST_RESYNC;
  }

  std::span<const uint8_t> bytes_;
  jpeg_decompress_struct state_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr progress_ = {};
  std::jmp_buf jump_ = {};
  char text_[JMSG_LENGTH_MAX] = {};
};

// What is left of the light after each ink: in place, as the result is shorter.
void cmyk_to_rgb(std::vector<uint8_t>& pixels, bool inverted) {
  const size_t count = pixels.size() / 4;
  const int flip = inverted ? 0 : 255;
  for (size_t i = 0; i < count; ++i) {
    const int black = pixels[4 * i + 3] ^ flip;
    for (size_t c = 0; c < 3; ++c) {
      pixels[3 * i + c] = static_cast<uint8_t>(((pixels[4 * i + c] ^ flip) * black + 127) / 255);
    }
  }
  pixels.resize(count * 3);
}

}  // namespace

namespace {

[[noreturn]] void fail(const JpegDecoder& decoder, size_t bytes, const std::string& name) {
  fail_request("{}: expected a whole JPEG picture, found at offset {} of {}: {}", name,
               decoder.offset(), bytes, decoder.text());
}

void open(JpegDecoder& decoder, size_t bytes, const std::string& name, Picture& picture) {
  if (!decoder.open()) fail(decoder, bytes, name);
  check_picture_size(name, decoder.height(), decoder.width());
  if (decoder.promises_too_much()) {
    fail_request("{}: truncated: expected a JPEG picture of {}x{} (width x height), found {} bytes",
                 name, decoder.width(), decoder.height(), bytes);
  }
  picture.height = static_cast<int64_t>(decoder.height());
  picture.width = static_cast<int64_t>(decoder.width());
  picture.channels = decoder.components() == 1 ? 1 : 3;
}

}  // namespace

void look_at_jpeg(std::span<const uint8_t> bytes, const std::string& name, Picture& picture) {
  JpegDecoder decoder(bytes);
  open(decoder, bytes.size(), name, picture);
}

void decode_jpeg(std::span<const uint8_t> bytes, const std::string& name, Picture& picture) {
  JpegDecoder decoder(bytes);
  open(decoder, bytes.size(), name, picture);
  const size_t row = decoder.width() * decoder.components();
  picture.pixels.resize(decoder.height() * row);
  if (!decoder.decode(picture.pixels.data(), row)) fail(decoder, bytes.size(), name);
  if (decoder.components() == 4) cmyk_to_rgb(picture.pixels, decoder.inverted());
}

}  // namespace syrtos::data

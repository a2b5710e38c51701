#include "syrtos/data/pictures/bmp.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>

#include "syrtos/base/error.h"
#include "syrtos/data/pictures/alpha.h"

namespace syrtos::data {

namespace {

// A file: 14 bytes of which those from 10 on say where the pixels are, a header that begins with
// its own size, masks or a palette, and rows from the last to the first, each of whole words.
class Bitmap {
 public:
  Bitmap(std::span<const uint8_t> bytes, const std::string& name) : bytes_(bytes), name_(name) {
    pixels_ = number(10, 4);
    header_ = number(14, 4);
    if (header_ == kOldHeader) {
      width_ = number(18, 2);
      height_ = number(20, 2);
      bits_ = number(24, 2);
    } else if (header_ >= kHeader && header_ <= kLongestHeader) {
      width_ = number(18, 4);
      const auto height = static_cast<int32_t>(number(22, 4));
      from_top_ = height < 0;
      height_ = static_cast<uint64_t>(std::abs(static_cast<int64_t>(height)));
      bits_ = number(28, 2);
      compression_ = number(30, 4);
    } else {
      fail(14, "a header of 12 or 40 to 124 bytes", header_);
    }
    check_picture_size(name, height_, width_);
    check_kind();
    if (bits_ <= 8) read_palette();
    if (bits_ == 16 || bits_ == 32) read_masks();
  }

  void describe(Picture& picture) const {
    picture.height = static_cast<int64_t>(height_);
    picture.width = static_cast<int64_t>(width_);
    picture.channels = is_grey_ ? 1 : 3;
  }

  void decode(Picture& picture) const {
    const size_t row = (width_ * bits_ + 31) / 32 * 4;
    if (pixels_ > bytes_.size() || (bytes_.size() - pixels_) / row < height_) {
      fail_request("{}: truncated: at offset {} expected {} rows of {} bytes, found {} bytes",
                   name_, pixels_, height_, row, bytes_.size() - std::min(pixels_, bytes_.size()));
    }
    const bool alpha = masks_[3] != 0;
    const size_t channels = is_grey_ ? 1 : alpha ? 4 : 3;
    picture.pixels.resize(height_ * width_ * channels);
    uint8_t* to = picture.pixels.data();
    for (size_t y = 0; y < height_; ++y) {
      const uint8_t* from = &bytes_[pixels_ + (from_top_ ? y : height_ - 1 - y) * row];
      for (size_t x = 0; x < width_; ++x, to += channels) put(from, x, channels, to);
    }
    if (alpha) lay_over_black(picture.pixels, channels);
  }

 private:
  static constexpr size_t kOldHeader = 12;
  static constexpr size_t kHeader = 40;
  static constexpr size_t kLongestHeader = 124;
  static constexpr uint64_t kMasks = 3;  // of compression: 16 or 32 bits with masks

  [[noreturn]] void fail(size_t at, const char* expected, uint64_t found) const {
    fail_request("{}: at offset {} expected {}, found {}", name_, at, expected, found);
  }

  uint64_t number(size_t at, size_t size) const {
    if (bytes_.size() < at + size) fail(at, "a BMP header", bytes_.size());
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;) value = value << 8 | bytes_[at + i];
    return value;
  }

  void check_kind() const {
    const bool known =
        bits_ == 1 || bits_ == 4 || bits_ == 8 || bits_ == 16 || bits_ == 24 || bits_ == 32;
    if (!known) fail(28, "1, 4, 8, 16, 24 or 32 bits for a pixel", bits_);
    const bool masks = compression_ == kMasks && (bits_ == 16 || bits_ == 32);
    if (compression_ != 0 && !masks) {
      fail(30, "no compression (0); save the picture without, or as PNG", compression_);
    }
  }

  void read_palette() {
    const size_t entry = header_ == kOldHeader ? 3 : 4;
    uint64_t colours = header_ == kOldHeader ? 0 : number(46, 4);
    const uint64_t most = uint64_t{1} << bits_;
    if (colours == 0 || colours > most) colours = most;
    is_grey_ = true;
    for (uint64_t i = 0; i < colours; ++i) {
      for (size_t c = 0; c < 3; ++c) {  // blue comes first
        palette_[i][c] = static_cast<uint8_t>(number(14 + header_ + i * entry + 2 - c, 1));
      }
      const auto& colour = palette_[i];
      is_grey_ = is_grey_ && colour[0] == colour[1] && colour[1] == colour[2];
    }
  }

  void read_masks() {
    masks_ = bits_ == 16 ? std::array<uint32_t, 4>{0x7c00, 0x3e0, 0x1f, 0}
                         : std::array<uint32_t, 4>{0xff0000, 0xff00, 0xff, 0};
    if (compression_ != kMasks) return;
    constexpr size_t kHeaderWithAlpha = 56;
    for (size_t c = 0; c < (header_ >= kHeaderWithAlpha ? 4U : 3U); ++c) {
      masks_[c] = static_cast<uint32_t>(number(54 + 4 * c, 4));
    }
  }

  /// What a mask selects, as 0 to 255.
  static uint8_t part(uint64_t pixel, uint32_t mask) {
    if (mask == 0) return 0;
    const int shift = std::countr_zero(mask);
    const uint64_t most = mask >> shift;
    return static_cast<uint8_t>(((pixel & mask) >> shift) * 255 / most);
  }

  void put(const uint8_t* row, size_t x, size_t channels, uint8_t* to) const {
    if (bits_ <= 8) {
      const size_t in_byte = 8 / bits_;
      const size_t shift = 8 - bits_ * (x % in_byte + 1);
      const auto& colour = palette_[row[x / in_byte] >> shift & ((1U << bits_) - 1)];
      for (size_t c = 0; c < channels; ++c) to[c] = colour[c];
    } else if (bits_ == 24) {
      for (size_t c = 0; c < 3; ++c) to[c] = row[3 * x + 2 - c];
    } else {
      uint64_t pixel = 0;
      const size_t size = bits_ / 8;
      for (size_t i = size; i-- > 0;) pixel = pixel << 8 | row[size * x + i];
      for (size_t c = 0; c < channels; ++c) to[c] = part(pixel, masks_[c]);
    }
  }

  std::span<const uint8_t> bytes_;
  const std::string& name_;
  size_t pixels_ = 0;
  size_t header_ = 0;
  uint64_t width_ = 0;
  uint64_t height_ = 0;
  uint64_t bits_ = 0;
  uint64_t compression_ = 0;
  bool from_top_ = false;
  bool is_grey_ = false;
  std::array<std::array<uint8_t, 3>, 256> palette_ = {};
  std::array<uint32_t, 4> masks_ = {};
};

}  // namespace

void look_at_bmp(std::span<const uint8_t> bytes, const std::string& name, Picture& picture) {
  Bitmap(bytes, name).describe(picture);
}

void decode_bmp(std::span<const uint8_t> bytes, const std::string& name, Picture& picture) {
  const Bitmap bitmap(bytes, name);
  bitmap.describe(picture);
  bitmap.decode(picture);
}

}  // namespace syrtos::data

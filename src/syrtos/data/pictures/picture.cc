#include "syrtos/data/pictures/picture.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/data/files/file_bytes.h"
#include "syrtos/data/pictures/bmp.h"
#include "syrtos/data/pictures/jpeg.h"
#include "syrtos/data/pictures/png.h"
#include "syrtos/data/pictures/pnm.h"
#include "syrtos/data/pictures/webp.h"

namespace syrtos::data {

namespace {

constexpr uint64_t kMostPixels = uint64_t{1} << 26;

using PictureReader = void (*)(std::span<const uint8_t>, const std::string&, Picture&);
struct PictureFormat {
  std::string_view magic;
  PictureReader look;  ///< Size and channels alone.
  PictureReader decode;
};
constexpr std::array kPictureFormats = {PictureFormat{"\xff\xd8\xff", look_at_jpeg, decode_jpeg},
                                        PictureFormat{"\x89PNG\r\n\x1a\n", look_at_png, decode_png},
                                        PictureFormat{"RIFF", look_at_webp, decode_webp},
                                        PictureFormat{"BM", look_at_bmp, decode_bmp},
                                        PictureFormat{"P5", look_at_pnm, decode_pnm},
                                        PictureFormat{"P6", look_at_pnm, decode_pnm}};
constexpr std::array<std::string_view, 8> kExtensions = {".jpg", ".jpeg", ".png", ".webp",
                                                         ".bmp", ".pgm",  ".ppm", ".pnm"};

std::string hex(std::span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text += fmt::format("{}{:02x}", text.empty() ? "" : " ", byte);
  return text.empty() ? "an empty file" : text;
}

const PictureFormat& picture_format(std::span<const uint8_t> bytes, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const PictureFormat& format : kPictureFormats) {
    if (text.starts_with(format.magic)) return format;
  }
  fail_request(
      "{}: at offset 0 expected a JPEG, PNG, WebP, BMP, PGM (P5) or PPM (P6) picture, found {}",
      name, hex(bytes.first(std::min<size_t>(bytes.size(), 8))));
}

void decode(std::span<const uint8_t> bytes, const std::string& name, Picture& picture) {
  picture_format(bytes, name).decode(bytes, name, picture);
}

void grey_to_colour(std::vector<uint8_t>& pixels) {
  const size_t count = pixels.size();
  pixels.resize(count * 3);
  for (size_t i = count; i-- > 0;) {
    const uint8_t value = pixels[i];
    pixels[3 * i] = pixels[3 * i + 1] = pixels[3 * i + 2] = value;
  }
}

// Brightness as television defines it (ITU-R BT.601).
void colour_to_grey(std::vector<uint8_t>& pixels) {
  const size_t count = pixels.size() / 3;
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* rgb = &pixels[3 * i];
    pixels[i] = static_cast<uint8_t>((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
  }
  pixels.resize(count);
}

}  // namespace

Picture decode_picture(std::span<const uint8_t> bytes, const std::string& name) {
  Picture picture;
  decode(bytes, name, picture);
  return picture;
}

Picture look_at_picture(std::span<const uint8_t> bytes, const std::string& name) {
  Picture picture;
  picture_format(bytes, name).look(bytes, name, picture);
  return picture;
}

std::string picture_names() { return fmt::format("{}", fmt::join(kExtensions, ", ")); }

void decode_into(std::span<const uint8_t> bytes, const std::string& name, int channels,
                 std::vector<uint8_t>& values, int64_t& height, int64_t& width) {
  SYRTOS_CHECK(channels == 1 || channels == 3, "{}", channels);
  Picture picture;
  picture.pixels.swap(values);
  decode(bytes, name, picture);
  if (picture.channels < channels) grey_to_colour(picture.pixels);
  if (picture.channels > channels) colour_to_grey(picture.pixels);
  picture.pixels.swap(values);
  height = picture.height;
  width = picture.width;
}

Picture read_picture(const std::filesystem::path& file) {
  return decode_picture(read_bytes(file), file.string());
}

void write_png(const std::filesystem::path& file, const Picture& picture) {
  const std::vector<uint8_t> bytes = encode_png(picture, file.string());
  AtomicFile out(file);
  out.write(bytes.data(), bytes.size());
  out.commit();
}

bool has_picture_name(const std::filesystem::path& file) {
  std::string extension = file.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

void check_picture_size(const std::string& name, uint64_t height, uint64_t width) {
  if (height == 0 || width == 0 || height > kMostPixels / width) {
    fail_request("{}: expected a picture of 1 to {} pixels, found {}x{} (width x height)", name,
                 kMostPixels, width, height);
  }
}

}  // namespace syrtos::data

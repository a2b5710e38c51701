#include "syrtos/data/pictures/webp.h"

#include <webp/decode.h>

#include "syrtos/base/error.h"
#include "syrtos/data/pictures/alpha.h"

namespace syrtos::data {

namespace {

WebPBitstreamFeatures open(std::span<const uint8_t> bytes, const std::string& name,
                           Picture& picture) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(bytes.data(), bytes.size(), &features) != VP8_STATUS_OK) {
    fail_request("{}: expected a WebP picture, found {} bytes that are none", name, bytes.size());
  }
  if (features.has_animation != 0) {
    fail_request("{}: expected a single picture, found an animation; take a frame of it", name);
  }
  check_picture_size(name, static_cast<uint64_t>(features.height),
                     static_cast<uint64_t>(features.width));
  picture.height = features.height;
  picture.width = features.width;
  picture.channels = 3;
  return features;
}

}  // namespace

void look_at_webp(std::span<const uint8_t> bytes, const std::string& name, Picture& picture) {
  open(bytes, name, picture);
}

void decode_webp(std::span<const uint8_t> bytes, const std::string& name, Picture& picture) {
  const bool alpha = open(bytes, name, picture).has_alpha != 0;
  const size_t channels = alpha ? 4 : 3;
  const size_t row = static_cast<size_t>(picture.width) * channels;
  picture.pixels.resize(static_cast<size_t>(picture.height) * row);
  const auto decode = alpha ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  if (decode(bytes.data(), bytes.size(), picture.pixels.data(), picture.pixels.size(),
             static_cast<int>(row)) == nullptr) {
    fail_request(
        "{}: expected a whole WebP picture of {}x{} (width x height), found damage in {} "
        "bytes",
        name, picture.width, picture.height, bytes.size());
  }
  if (alpha) lay_over_black(picture.pixels, channels);
}

}  // namespace syrtos::data

#pragma once

#include "syrtos/data/pictures/picture.h"

namespace syrtos::data {

/// Decodes a JPEG: baseline or progressive; grey stays grey, everything else (YCbCr, RGB, CMYK,
/// YCCK) becomes RGB. Damage that libjpeg would paint over (missing or impossible data) is an
/// error; harmless oddities, as stray bytes between segments, are not. Throws RequestError.
void decode_jpeg(std::span<const uint8_t> bytes, const std::string& name, Picture& picture);
/// Size and channels alone.
void look_at_jpeg(std::span<const uint8_t> bytes, const std::string& name, Picture& picture);

}  // namespace syrtos::data

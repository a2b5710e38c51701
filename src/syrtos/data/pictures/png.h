#pragma once

#include "syrtos/data/pictures/picture.h"

namespace syrtos::data {

/// Decodes a PNG of any kind to 8-bit grey or RGB: palettes and 1, 2, 4 bits are expanded, 16 bits
/// rounded, alpha is laid over black. Throws RequestError.
void decode_png(std::span<const uint8_t> bytes, const std::string& name, Picture& picture);
/// Size and channels alone.
void look_at_png(std::span<const uint8_t> bytes, const std::string& name, Picture& picture);

/// Encodes grey or RGB as the bytes of a PNG file. Throws RunError that says `name`.
std::vector<uint8_t> encode_png(const Picture& picture, const std::string& name);

}  // namespace syrtos::data

#pragma once

#include "syrtos/data/pictures/picture.h"

namespace syrtos::data {

/// Decodes a Windows or OS/2 bitmap without compression: palettes of 1, 4 or 8 bits (grey when all
/// of it is), 16, 24 or 32 bits of colour; alpha, where a header has it, is laid over black. Throws
/// RequestError, for run lengths and embedded JPEG or PNG too.
void decode_bmp(std::span<const uint8_t> bytes, const std::string& name, Picture& picture);
/// Size and channels alone.
void look_at_bmp(std::span<const uint8_t> bytes, const std::string& name, Picture& picture);

}  // namespace syrtos::data

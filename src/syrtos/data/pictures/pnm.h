#pragma once

#include "syrtos/data/pictures/picture.h"

namespace syrtos::data {

/// Decodes a binary PGM (P5) or PPM (P6) file with up to 255 levels. Throws RequestError.
void decode_pnm(std::span<const uint8_t> bytes, const std::string& name, Picture& picture);
/// Size and channels alone.
void look_at_pnm(std::span<const uint8_t> bytes, const std::string& name, Picture& picture);

}  // namespace syrtos::data

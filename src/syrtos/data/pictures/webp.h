#pragma once

#include "syrtos/data/pictures/picture.h"

namespace syrtos::data {

/// Decodes a WebP, with or without losses, to RGB; alpha is laid over black. Throws RequestError,
/// for animations too.
void decode_webp(std::span<const uint8_t> bytes, const std::string& name, Picture& picture);
/// Size and channels alone.
void look_at_webp(std::span<const uint8_t> bytes, const std::string& name, Picture& picture);

}  // namespace syrtos::data

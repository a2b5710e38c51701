#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace syrtos {

/// Bytes in zlib's format.
std::string compressed(std::string_view bytes);
/// Throws RequestError: not such bytes, or more than `most` come out; `what` begins the message.
std::string decompressed(std::string_view bytes, size_t most, std::string_view what);

}  // namespace syrtos

#pragma once

#include <string>
#include <string_view>

namespace syrtos {

/// Bytes as letters, digits, '+', '/' and '=', for texts that cannot hold others.
std::string to_base64(std::string_view bytes);
/// Throws RequestError: not such a text; `what` begins the message.
std::string from_base64(std::string_view text, std::string_view what);

}  // namespace syrtos

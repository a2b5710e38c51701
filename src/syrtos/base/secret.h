#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace syrtos {

using SecretBytes = std::array<uint8_t, 32>;

/// From the system's generator of secrets.
SecretBytes random_secret();

/// The same in hexadecimal, 64 characters: a token or a challenge. It is never part of a command
/// line, which everybody on a machine can read.
std::string random_token();
constexpr size_t kTokenLength = 2 * sizeof(SecretBytes);

std::string to_hexadecimal(std::span<const uint8_t> bytes);

/// HMAC-SHA256: shows that its maker knows the token, without showing the token.
SecretBytes seal(std::string_view token, std::span<const uint8_t> message);

/// Takes the same time wherever they differ. Those of other sizes differ at once.
bool same_secret(std::span<const uint8_t> a, std::span<const uint8_t> b);
bool same_secret(std::string_view a, std::string_view b);

}  // namespace syrtos

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace syrtos::world::tcp {

using Nonce = std::array<uint8_t, 32>;
using Proof = std::array<uint8_t, 32>;

/// From the system's generator of secrets.
Nonce random_nonce();
/// 32 random bytes as hex, for TcpOptions::token.
std::string random_token();
/// HMAC-SHA256: shows that its maker knows the token, without showing the token.
Proof prove(const std::string& token, std::span<const uint8_t> message);
/// Takes the same time wherever they differ.
bool equal(const Proof& a, const Proof& b);

}  // namespace syrtos::world::tcp

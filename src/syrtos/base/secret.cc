#include "syrtos/base/secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include "syrtos/base/error.h"

namespace syrtos {

namespace {

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

SecretBytes random_secret() {
  SecretBytes secret;
  // So few bytes never come in parts.
  SYRTOS_CHECK(getrandom(secret.data(), secret.size(), 0) == static_cast<ssize_t>(secret.size()));
  return secret;
}

std::string to_hexadecimal(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string random_token() { return to_hexadecimal(random_secret()); }

SecretBytes seal(std::string_view token, std::span<const uint8_t> message) {
  SecretBytes result;
  unsigned length = 0;
  const auto* done = HMAC(EVP_sha256(), token.data(), static_cast<int>(token.size()),
                          message.data(), message.size(), result.data(), &length);
  if (done == nullptr || length != result.size()) {
    fail_run("OpenSSL does not offer HMAC-SHA256 here");
  }
  return result;
}

bool same_secret(std::span<const uint8_t> a, std::span<const uint8_t> b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool same_secret(std::string_view a, std::string_view b) {
  return same_secret(bytes_of(a), bytes_of(b));
}

}  // namespace syrtos

#include "syrtos/world/tcp/secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include "syrtos/base/error.h"

namespace syrtos::world::tcp {

Nonce random_nonce() {
  Nonce nonce;
  SYRTOS_CHECK(getrandom(nonce.data(), nonce.size(), 0) == static_cast<ssize_t>(nonce.size()));
  return nonce;
}

std::string random_token() {
  std::string token;
  for (const uint8_t byte : random_nonce()) token += fmt::format("{:02x}", byte);
  return token;
}

Proof prove(const std::string& token, std::span<const uint8_t> message) {
  Proof proof;
  unsigned length = 0;
  const auto* done = HMAC(EVP_sha256(), token.data(), static_cast<int>(token.size()),
                          message.data(), message.size(), proof.data(), &length);
  SYRTOS_CHECK(done != nullptr && length == proof.size());
  return proof;
}

bool equal(const Proof& a, const Proof& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace syrtos::world::tcp

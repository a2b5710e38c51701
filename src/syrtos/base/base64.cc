#include "syrtos/base/base64.h"

#include <openssl/evp.h>

#include <limits>

#include "syrtos/base/error.h"

namespace syrtos {

namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  SYRTOS_CHECK(bytes.size() < std::numeric_limits<int>::max() / 2, "{}", bytes.size());
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // one for the zero at its end
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes_of(bytes),
                                     static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(length));
  return text;
}

std::string from_base64(std::string_view text, std::string_view what) {
  std::string bytes(text.size() / 4 * 3 + 1, '\0');
  const bool whole = text.size() % 4 == 0 && text.size() < std::numeric_limits<int>::max() / 2;
  const int length = whole ? EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                             bytes_of(text), static_cast<int>(text.size()))
                           : -1;
  if (length < 0) fail_request("{}: expected bytes in base64, found something else", what);
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  bytes.resize(static_cast<size_t>(length) - padding);
  return bytes;
}

}  // namespace syrtos

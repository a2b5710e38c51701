#include "syrtos/launch/checksum.h"

#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <memory>
#include <vector>

#include "syrtos/base/error.h"
#include "syrtos/base/secret.h"

namespace syrtos::launch {

std::string file_sha256(const std::filesystem::path& file) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  if (EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1) {
    fail_run("OpenSSL does not offer SHA-256 here");
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) fail_run("{}: cannot be read", file.string());
  std::vector<char> block(1 << 20);
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0) {
    EVP_DigestUpdate(context.get(), block.data(), static_cast<size_t>(in.gcount()));
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  EVP_DigestFinal_ex(context.get(), digest.data(), &length);
  return to_hexadecimal({digest.data(), length});
}

}  // namespace syrtos::launch

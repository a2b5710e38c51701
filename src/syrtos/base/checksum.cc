#include "syrtos/base/checksum.h"

#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <vector>

#include "syrtos/base/error.h"
#include "syrtos/base/secret.h"

namespace syrtos {

struct Checksum::State {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                  EVP_MD_CTX_free};
};

Checksum::Checksum(Kind kind) : state_(std::make_unique<State>()) {
  const EVP_MD* algorithm = kind == Kind::md5 ? EVP_md5() : EVP_sha256();
  if (EVP_DigestInit_ex(state_->context.get(), algorithm, nullptr) != 1) {
    fail_run("OpenSSL does not offer {} here", kind == Kind::md5 ? "MD5" : "SHA-256");
  }
}

Checksum::~Checksum() = default;

void Checksum::add(const void* data, size_t bytes) {
  EVP_DigestUpdate(state_->context.get(), data, bytes);
}

std::string Checksum::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  EVP_DigestFinal_ex(state_->context.get(), digest.data(), &length);
  return to_hexadecimal({digest.data(), length});
}

std::string file_checksum(Checksum::Kind kind, const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) fail_request("{}: expected a file that can be read", file.string());
  Checksum checksum(kind);
  std::vector<char> block(1 << 20);
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0) {
    checksum.add(block.data(), static_cast<size_t>(in.gcount()));
  }
  return checksum.finish();
}

}  // namespace syrtos

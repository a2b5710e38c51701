#include "syrtos/data/fetch/checksum.h"

#include <openssl/evp.h>

#include <array>
#include <fstream>

#include "syrtos/base/error.h"

namespace syrtos::data {

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
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string contents_sha256(const Dataset& dataset, const std::function<bool(int64_t)>& done) {
  constexpr int64_t kAsk = 512;  // samples between two calls of done()
  Checksum checksum(Checksum::Kind::sha256);
  Scratch scratch;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    if (done && i % kAsk == 0 && !done(i)) fail_run("interrupted");
    const Sample sample = dataset.read(i, scratch);
    checksum.add(sample.values, static_cast<size_t>(sample.elements()) * size_of(sample.dtype));
    if (i % kAsk == kAsk - 1 || i == dataset.size() - 1) dataset.check();
  }
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const auto label = static_cast<uint8_t>(dataset.label(i));
    checksum.add(&label, 1);
  }
  return checksum.finish();
}

std::string file_md5(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) fail_request("{}: expected a file that can be read", file.string());
  Checksum checksum(Checksum::Kind::md5);
  std::vector<char> block(1 << 20);
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0) {
    checksum.add(block.data(), static_cast<size_t>(in.gcount()));
  }
  return checksum.finish();
}

}  // namespace syrtos::data

#include "syrtos/launch/token.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"

namespace syrtos::launch {

namespace {

constexpr size_t kTokenBytes = 32;
constexpr size_t kTokenLength = 2 * kTokenBytes;

std::string hexadecimal(const unsigned char* bytes, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

}  // namespace

std::string make_token() {
  std::array<unsigned char, kTokenBytes> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    fail_run("OpenSSL has no random numbers for the job's token");
  }
  return hexadecimal(bytes.data(), bytes.size());
}

std::string seal(std::string_view token, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (HMAC(EVP_sha256(), token.data(), static_cast<int>(token.size()), bytes, text.size(),
           digest.data(), &length) == nullptr) {
    fail_run("OpenSSL does not offer HMAC-SHA256 here");
  }
  return hexadecimal(digest.data(), length);
}

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string file_sha256(const std::string& path) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  if (EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1) {
    fail_run("OpenSSL does not offer SHA-256 here");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) fail_run("{}: cannot be read", path);
  std::vector<char> block(1 << 20);
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0) {
    EVP_DigestUpdate(context.get(), block.data(), static_cast<size_t>(in.gcount()));
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  EVP_DigestFinal_ex(context.get(), digest.data(), &length);
  return hexadecimal(digest.data(), length);
}

std::string read_token(int input, std::chrono::milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  std::string token;
  // One byte at a time: what follows the line is not ours.
  for (char next = 0; token.size() <= kTokenLength;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd event{.fd = input, .events = POLLIN, .revents = 0};
    if (left <= 0 || poll(&event, 1, static_cast<int>(left)) == 0) break;
    const ssize_t got = ::read(input, &next, 1);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0 || next == '\n') break;
    token += next;
  }
  if (token.size() == kTokenLength) return token;
  fail_run(
      "expected the job's token on standard input, found {} of {} characters; ranks are started by "
      "the launcher, not by hand",
      token.size(), kTokenLength);
}

}  // namespace syrtos::launch

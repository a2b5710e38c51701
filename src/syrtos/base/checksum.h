#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

namespace syrtos {

/// A checksum that bytes are added to, by OpenSSL.
class Checksum {
 public:
  enum class Kind { md5, sha256 };

  explicit Checksum(Kind kind);
  ~Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;

  void add(const void* data, size_t bytes);
  /// The checksum in hexadecimal; nothing can be added afterwards.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Of a whole file. Throws RequestError when it cannot be read.
std::string file_checksum(Checksum::Kind kind, const std::filesystem::path& file);

}  // namespace syrtos

#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "syrtos/data/dataset.h"

namespace syrtos::data {

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

/// SHA-256 of what a data set says, however it is stored: the decoded values of every sample in
/// order, then every label as one byte. Samples are of one size. `done(samples)` is called now and
/// then and ends the work when it returns false (RunError).
std::string contents_sha256(const Dataset& dataset, const std::function<bool(int64_t)>& done);

/// The MD5 sum of a whole file, which data sets are published with. Throws RequestError.
std::string file_md5(const std::filesystem::path& file);

}  // namespace syrtos::data

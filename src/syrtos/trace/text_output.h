#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "syrtos/base/files.h"

namespace syrtos::trace {

/// A large text file, written in pieces, compressed when its name ends in .gz; it appears when it
/// is complete. Throws RunError.
class TextOutput {
 public:
  explicit TextOutput(const std::filesystem::path& file);
  ~TextOutput();

  /// Add text here, and call flush_if_full() now and then.
  fmt::memory_buffer& buffer() { return buffer_; }
  void flush_if_full();
  void commit();

 private:
  struct Compressor;
  void flush(bool last);

  AtomicFile file_;
  fmt::memory_buffer buffer_;
  std::unique_ptr<Compressor> compressor_;
};

}  // namespace syrtos::trace

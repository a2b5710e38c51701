#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace syrtos::trace {

/// Builds a record of small numbers and texts: whole numbers take a byte per seven bits.
class ByteWriter {
 public:
  void unsigned_number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) data_ += static_cast<char>(value | 0x80);
    data_ += static_cast<char>(value);
  }
  /// Small ones, also negative, take few bytes.
  void number(int64_t value) {
    unsigned_number(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
  }
  void fixed32(uint32_t value);
  void fixed64(uint64_t value);
  void text(std::string_view value) {
    unsigned_number(value.size());
    data_ += value;
  }
  void raw(std::string_view value) { data_ += value; }
  std::string take() { return std::move(data_); }

 private:
  std::string data_;
};

/// Takes such a record apart. Whatever the bytes are, it reads nothing outside of them, and each
/// error (RunError) names the record, the offset, what was expected and what was found.
class ByteReader {
 public:
  /// `what` it is, for errors: "events of rank 2".
  ByteReader(std::string_view bytes, std::string what) : bytes_(bytes), what_(std::move(what)) {}

  uint64_t unsigned_number(std::string_view field);
  int64_t number(std::string_view field);
  uint32_t fixed32(std::string_view field);
  uint64_t fixed64(std::string_view field);
  std::string_view text(std::string_view field);
  /// In [low, high].
  int64_t number_within(std::string_view field, int64_t low, int64_t high);
  /// How many follow; each takes at least this many bytes, so there cannot be more than fit.
  uint64_t count(std::string_view field, size_t least_bytes_each);
  void magic(std::string_view expected);
  void end();

  /// Throws: about what was read last.
  [[noreturn]] void fail(std::string_view expected, std::string_view found) const;

 private:
  std::string_view take(std::string_view field, size_t bytes);

  std::string_view bytes_;
  std::string what_;
  size_t offset_ = 0;
  size_t field_offset_ = 0;
};

}  // namespace syrtos::trace

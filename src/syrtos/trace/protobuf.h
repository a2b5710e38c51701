#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace syrtos::trace {

/// A message in protobuf's wire format, built field by field in the order of the calls. Field
/// numbers are those of the .proto file. Defaults are written too: readers take both.
class Message {
 public:
  /// int32, int64, uint32, uint64, bool and enum; negative numbers take ten bytes.
  Message& integer(uint32_t field, int64_t value);
  Message& fixed32(uint32_t field, uint32_t value);
  Message& fixed64(uint32_t field, uint64_t value);
  Message& real32(uint32_t field, float value);
  Message& real64(uint32_t field, double value);
  /// string and bytes.
  Message& bytes(uint32_t field, std::string_view value);
  /// A message within this one.
  Message& message(uint32_t field, const Message& value) { return bytes(field, value.data_); }

  const std::string& data() const { return data_; }

 private:
  void varint(uint64_t value);
  void key(uint32_t field, uint32_t wire_type) { varint(uint64_t{field} << 3 | wire_type); }

  std::string data_;
};

/// Appends a number, little-endian.
void append_fixed(std::string& to, uint32_t value);
void append_fixed(std::string& to, uint64_t value);

}  // namespace syrtos::trace

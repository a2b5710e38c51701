#include "syrtos/trace/protobuf.h"

#include <bit>
#include <cstddef>

namespace syrtos::trace {

namespace {

constexpr uint32_t kVarint = 0;
constexpr uint32_t kFixed64 = 1;
constexpr uint32_t kLengthDelimited = 2;
constexpr uint32_t kFixed32 = 5;

template <typename T>
void append_little_endian(std::string& to, T value) {
  for (size_t i = 0; i < sizeof value; ++i) to.push_back(static_cast<char>(value >> (8 * i)));
}

}  // namespace

void append_fixed(std::string& to, uint32_t value) { append_little_endian(to, value); }
void append_fixed(std::string& to, uint64_t value) { append_little_endian(to, value); }

// Seven bits per byte, the lowest first; the eighth bit says that more follow.
void Message::varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) data_.push_back(static_cast<char>(value | 0x80));
  data_.push_back(static_cast<char>(value));
}

Message& Message::integer(uint32_t field, int64_t value) {
  key(field, kVarint);
  varint(static_cast<uint64_t>(value));
  return *this;
}

Message& Message::fixed32(uint32_t field, uint32_t value) {
  key(field, kFixed32);
  append_fixed(data_, value);
  return *this;
}

Message& Message::fixed64(uint32_t field, uint64_t value) {
  key(field, kFixed64);
  append_fixed(data_, value);
  return *this;
}

Message& Message::real32(uint32_t field, float value) {
  return fixed32(field, std::bit_cast<uint32_t>(value));
}

Message& Message::real64(uint32_t field, double value) {
  return fixed64(field, std::bit_cast<uint64_t>(value));
}

Message& Message::bytes(uint32_t field, std::string_view value) {
  key(field, kLengthDelimited);
  varint(value.size());
  data_.append(value);
  return *this;
}

}  // namespace syrtos::trace

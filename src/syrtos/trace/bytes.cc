#include "syrtos/trace/bytes.h"

#include <algorithm>
#include <cstring>

#include "syrtos/base/error.h"
#include "syrtos/trace/protobuf.h"

namespace syrtos::trace {

void ByteWriter::fixed32(uint32_t value) { append_fixed(data_, value); }
void ByteWriter::fixed64(uint64_t value) { append_fixed(data_, value); }

void ByteReader::fail(std::string_view expected, std::string_view found) const {
  fail_run("{}: expected {} at offset {}, found {}", what_, expected, field_offset_, found);
}

std::string_view ByteReader::take(std::string_view field, size_t bytes) {
  field_offset_ = offset_;
  const size_t left = bytes_.size() - offset_;
  if (bytes > left) {
    fail(fmt::format("{} ({} bytes)", field, bytes),
         left == 0 ? "the end" : fmt::format("the end after {} bytes", left));
  }
  offset_ += bytes;
  return bytes_.substr(field_offset_, bytes);
}

uint64_t ByteReader::unsigned_number(std::string_view field) {
  field_offset_ = offset_;
  uint64_t value = 0;
  for (int shift = 0; offset_ < bytes_.size(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes_[offset_++]);
    if (shift == 63 && byte > 1) fail(field, "a number of more than 64 bits");
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  fail(field, "the end");
}

int64_t ByteReader::number(std::string_view field) {
  const uint64_t value = unsigned_number(field);
  return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1));
}

uint32_t ByteReader::fixed32(std::string_view field) {
  uint32_t value = 0;
  for (int shift = 0; const char byte : take(field, 4)) {
    value |= static_cast<uint32_t>(static_cast<uint8_t>(byte)) << shift;
    shift += 8;
  }
  return value;
}

uint64_t ByteReader::fixed64(std::string_view field) {
  const size_t start = offset_;
  take(field, 8);
  offset_ = start;
  const uint64_t low = fixed32(field);
  return low | static_cast<uint64_t>(fixed32(field)) << 32;
}

std::string_view ByteReader::text(std::string_view field) { return take(field, count(field, 1)); }

int64_t ByteReader::number_within(std::string_view field, int64_t low, int64_t high) {
  const int64_t value = number(field);
  if (value < low || value > high) {
    fail(fmt::format("{} from {} to {}", field, low, high), fmt::to_string(value));
  }
  return value;
}

uint64_t ByteReader::count(std::string_view field, size_t least_bytes_each) {
  const uint64_t value = unsigned_number(field);
  const size_t most = (bytes_.size() - offset_) / least_bytes_each;
  if (value > most) {
    fail(fmt::format("{}, at most {} in what is left", field, most), fmt::to_string(value));
  }
  return value;
}

void ByteReader::magic(std::string_view expected) {
  field_offset_ = 0;
  const std::string_view found = bytes_.substr(0, expected.size());
  if (found != expected) fail(fmt::format("'{}'", expected), "something else");
  offset_ = expected.size();
}

void ByteReader::end() {
  field_offset_ = offset_;
  if (offset_ != bytes_.size()) {
    fail("the end", fmt::format("{} bytes more", bytes_.size() - offset_));
  }
}

}  // namespace syrtos::trace

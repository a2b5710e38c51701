#pragma once

// Reads TensorBoard's files of events back, from the format's description and not with the code
// that writes them. Whatever is cut or has a wrong checksum throws std::runtime_error.

#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "syrtos/base/crc32.h"

namespace syrtos::event_records {

/// One field of a message as it stands in Protocol Buffers' wire format.
struct Field {
  uint32_t number = 0;
  uint64_t value = 0;  // of a varint or a fixed number
  std::string bytes;   // of what has a length
};

inline uint64_t take_fixed(std::string_view& from, size_t bytes) {
  if (from.size() < bytes) throw std::runtime_error("a number is cut");
  uint64_t value = 0;
  std::memcpy(&value, from.data(), bytes);
  from.remove_prefix(bytes);
  return value;
}

inline uint64_t take_varint(std::string_view& from) {
  for (uint64_t value = 0, shift = 0;; shift += 7) {
    const uint64_t byte = take_fixed(from, 1);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

inline std::string take_bytes(std::string_view& from, uint64_t length) {
  if (length > from.size()) throw std::runtime_error("bytes are cut");
  std::string bytes(from.substr(0, length));
  from.remove_prefix(length);
  return bytes;
}

inline std::vector<Field> parse(std::string_view message) {
  std::vector<Field> fields;
  while (!message.empty()) {
    const uint64_t key = take_varint(message);
    Field field{static_cast<uint32_t>(key >> 3), 0, ""};
    switch (key & 7) {
      case 0:
        field.value = take_varint(message);
        break;
      case 1:
        field.value = take_fixed(message, 8);
        break;
      case 5:
        field.value = take_fixed(message, 4);
        break;
      case 2:
        field.bytes = take_bytes(message, take_varint(message));
        break;
      default:
        throw std::runtime_error("unknown wire type");
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

/// The fields with this number.
inline std::vector<Field> all(std::string_view message, uint32_t number) {
  std::vector<Field> found;
  for (Field& field : parse(message)) {
    if (field.number == number) found.push_back(std::move(field));
  }
  return found;
}

inline Field one(std::string_view message, uint32_t number) {
  const auto found = all(message, number);
  return found.size() == 1 ? found[0] : throw std::runtime_error("not exactly one such field");
}

struct Scalar {
  std::string tag;
  float value = 0;
};

/// Every scalar of an event; none, where it holds something else.
inline std::vector<Scalar> scalars(std::string_view event) {
  std::vector<Scalar> found;
  for (const Field& summary : all(event, 5)) {
    for (const Field& value : all(summary.bytes, 1)) {
      found.push_back({one(value.bytes, 1).bytes,
                       std::bit_cast<float>(static_cast<uint32_t>(one(value.bytes, 2).value))});
    }
  }
  return found;
}

inline void check_crc(std::string_view data, std::string_view& rest) {
  const uint32_t crc = crc32c(0, data.data(), data.size());
  if (take_fixed(rest, 4) != (crc >> 15 | crc << 17) + 0xa282ead8U) {
    throw std::runtime_error("a checksum is wrong");
  }
}

/// The events of a file's bytes, every checksum compared.
inline std::vector<std::string> events(std::string_view file) {
  std::vector<std::string> found;
  while (!file.empty()) {
    const std::string_view length = file.substr(0, 8);
    const uint64_t size = take_fixed(file, 8);
    check_crc(length, file);
    found.push_back(take_bytes(file, size));
    check_crc(found.back(), file);
  }
  return found;
}

}  // namespace syrtos::event_records

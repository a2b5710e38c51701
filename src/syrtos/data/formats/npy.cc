#include "syrtos/data/formats/npy.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>

#include "syrtos/base/error.h"

namespace syrtos::data {

namespace {

constexpr int64_t kMostElements = int64_t{1} << 40;

// What stands after 'key': in the header, which Python writes as a dictionary.
std::string_view after_key(std::string_view header, std::string_view key, const std::string& name) {
  const size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) {
    fail_request("{}: expected '{}' in the header of a .npy file, found none", name, key);
  }
  header.remove_prefix(at + key.size() + 3);
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

/// Whether one of the extents "(0, 3, 8)" is 0.
bool is_empty(std::string_view shape) {
  for (size_t at = 0; at < shape.size(); ++at) {
    const bool begins = at > 0 && (shape[at - 1] == '(' || shape[at - 1] == ' ');
    const bool ends = at + 1 < shape.size() && (shape[at + 1] == ',' || shape[at + 1] == ')');
    if (shape[at] == '0' && begins && ends) return true;
  }
  return false;
}

std::vector<int64_t> parse_shape(std::string_view text, const std::string& name) {
  std::vector<int64_t> shape;
  const size_t close = text.find(')');
  bool good = text.starts_with('(') && close != std::string_view::npos;
  const char* at = text.data() + 1;
  const char* end = good ? text.data() + close : at;
  int64_t elements = 1;
  while (good && at < end) {
    int64_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    good = error == std::errc() && extent > 0 && extent <= kMostElements / elements;
    if (!good) break;
    elements *= extent;
    shape.push_back(extent);
    at = next;
    while (at < end && (*at == ',' || *at == ' ')) ++at;
  }
  if (!good && close != text.npos && is_empty(text.substr(0, close + 1))) {
    fail_request("{}: expected an array with values in it, found an empty one of shape {}", name,
                 text.substr(0, close + 1));
  }
  if (!good) {
    fail_request("{}: expected a shape as (60000, 28, 28) with 1 to {} values, found {}", name,
                 kMostElements, text.substr(0, close >= 60 ? 60 : close + 1));
  }
  return shape;
}

void parse_type(std::string_view text, NpyArray& array) {
  const std::string_view type = text.substr(0, 5);  // '<f4'
  const bool good = type.size() == 5 && type[0] == '\'' && type[4] == '\'' &&
                    std::string_view("<>|=").find(type[1]) != std::string_view::npos;
  const std::string_view known = good ? type.substr(2, 2) : "";
  for (const char* each : {"u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8"}) {
    if (known != each) continue;
    array.kind = known[0];
    array.item_bytes = static_cast<size_t>(known[1] - '0');
    array.big_endian = type[1] == '>';
    return;
  }
  if (text.size() > 2 && (text[2] == 'U' || text[2] == 'S')) {
    fail_request(
        "{}: expected numbers, found texts ({}); of labels that are texts save their numbers: "
        "names, y = np.unique(y, return_inverse=True)",
        array.name, text.substr(0, std::min(text.find(','), size_t{40})));
  }
  fail_request(
      "{}: expected values of type u1, u2, u4, u8, i1, i2, i4, i8, f2, f4 or f8, found {}; convert "
      "them with numpy's astype",
      array.name, text.substr(0, std::min(text.find(','), size_t{40})));
}

double half_to_double(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double fraction = bits & 1023;
  double value = 0;
  if (exponent == 31) {
    value = fraction == 0 ? HUGE_VAL : NAN;
  } else {
    value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

double floating(uint64_t bits, size_t bytes) {
  if (bytes == 2) return half_to_double(static_cast<uint16_t>(bits));
  if (bytes == 4) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  return std::bit_cast<double>(bits);
}

int64_t extend_sign(uint64_t bits, size_t bytes) {
  const auto shift = static_cast<int>(64 - 8 * bytes);
  return static_cast<int64_t>(bits << shift) >> shift;
}

}  // namespace

int64_t NpyArray::elements() const {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

double NpyArray::value(size_t index) const {
  const uint8_t* from = values.data() + index * item_bytes;
  uint64_t bits = 0;
  for (size_t i = 0; i < item_bytes; ++i) {
    bits = bits << 8 | from[big_endian ? i : item_bytes - 1 - i];
  }
  if (kind == 'f') return floating(bits, item_bytes);
  return kind == 'i' ? static_cast<double>(extend_sign(bits, item_bytes))
                     : static_cast<double>(bits);
}

std::vector<float> NpyArray::floats() const {
  std::vector<float> result(values.size() / item_bytes);
  for (size_t i = 0; i < result.size(); ++i) {
    const double exact = value(i);
    // The largest float: a double beyond it would become infinite.
    if (!(std::abs(exact) <= 0x1.fffffep127)) {
      fail_request("{}: at offset {} expected a finite number that fits in f32, found {}", name,
                   offset + i * item_bytes, exact);
    }
    result[i] = static_cast<float>(exact);
  }
  return result;
}

NpyArray parse_npy(std::span<const uint8_t> bytes, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with("\x93NUMPY") || text.size() < 12) {
    fail_request("{}: at offset 0 expected a .npy file (\\x93NUMPY and a header), found {}", name,
                 bytes.empty() ? "an empty file" : "something else");
  }
  const int version = bytes[6];
  if (version < 1 || version > 3) {
    fail_request("{}: at offset 6 expected version 1 to 3 of .npy, found {}", name, version);
  }
  const size_t begin = version == 1 ? 10 : 12;
  size_t length = 0;
  for (size_t i = begin; i-- > 8;) length = length << 8 | bytes[i];
  if (length > bytes.size() - begin) {
    fail_request("{}: at offset 8 expected the length of the header, at most {}, found {}", name,
                 bytes.size() - begin, length);
  }
  const std::string_view header = text.substr(begin, length);
  NpyArray array{.name = name, .offset = begin + length};
  parse_type(after_key(header, "descr", name), array);
  array.shape = parse_shape(after_key(header, "shape", name), name);
  if (array.shape.size() > 1 && !after_key(header, "fortran_order", name).starts_with("False")) {
    fail_request("{}: expected values in C order, found Fortran's; save np.ascontiguousarray(...)",
                 name);
  }
  array.values = bytes.subspan(array.offset);
  const int64_t expected = array.elements() * static_cast<int64_t>(array.item_bytes);
  if (static_cast<int64_t>(array.values.size()) != expected) {
    fail_request("{}: at offset {} expected {} bytes of values, found {}", name, array.offset,
                 expected, array.values.size());
  }
  return array;
}

}  // namespace syrtos::data

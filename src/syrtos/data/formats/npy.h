#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace syrtos::data {

/// An array in a .npy file, in C order; the values stay where the file's bytes are.
struct NpyArray {
  std::string name;  ///< for messages
  char kind = 'u';   ///< u: unsigned, i: signed, f: floating point
  size_t item_bytes = 1;
  bool big_endian = false;
  std::vector<int64_t> shape = {};
  std::span<const uint8_t> values = {};
  size_t offset = 0;  ///< of the values in the file

  int64_t rows() const { return shape.empty() ? 0 : shape[0]; }
  int64_t elements() const;
  bool is_bytes() const { return kind == 'u' && item_bytes == 1; }

  /// All values as f32. Throws RequestError for one that is not a finite number.
  std::vector<float> floats() const;

 private:
  double value(size_t index) const;
};

/// Reads the header: format version 1 to 3; whole numbers of 1 to 8 bytes, floating point of 2, 4
/// or 8, in either byte order. Throws RequestError: anything else, Fortran's order, or fewer or
/// more values than the shape says.
NpyArray parse_npy(std::span<const uint8_t> bytes, const std::string& name);

}  // namespace syrtos::data

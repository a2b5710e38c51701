#include "syrtos/onnx/tensors.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "syrtos/base/error.h"
#include "syrtos/tensor/half.h"

namespace syrtos::onnx {

using ::onnx::TensorProto;

namespace {

// Far above any network, far below what overflows.
constexpr int64_t kMostElements = int64_t{1} << 34;

size_t element_bytes(int type) {
  switch (type) {
    case TensorProto::DOUBLE:
    case TensorProto::INT64:
    case TensorProto::UINT64:
      return 8;
    case TensorProto::FLOAT:
    case TensorProto::INT32:
    case TensorProto::UINT32:
      return 4;
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16:
    case TensorProto::INT16:
    case TensorProto::UINT16:
      return 2;
    default:
      return 1;
  }
}

template <typename T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// One element as it lies in raw bytes, which are little-endian.
double number_at(const char* at, int type) {
  switch (type) {
    case TensorProto::FLOAT:
      return load<float>(at);
    case TensorProto::DOUBLE:
      return load<double>(at);
    case TensorProto::FLOAT16:
      return half_to_float(load<uint16_t>(at));
    default: {  // BFLOAT16
      BFloat16 value;
      value.bits = load<uint16_t>(at);
      return static_cast<double>(static_cast<float>(value));
    }
  }
}

int64_t integer_at(const char* at, int type) {
  switch (type) {
    case TensorProto::INT64:
    case TensorProto::UINT64:
      return load<int64_t>(at);
    case TensorProto::INT32:
      return load<int32_t>(at);
    case TensorProto::UINT32:
      return load<uint32_t>(at);
    case TensorProto::INT16:
      return load<int16_t>(at);
    case TensorProto::UINT16:
      return load<uint16_t>(at);
    case TensorProto::INT8:
      return load<int8_t>(at);
    default:
      return load<uint8_t>(at);
  }
}

int64_t product(const std::vector<int64_t>& shape) {
  int64_t result = 1;
  for (const int64_t extent : shape) result *= extent;
  return result;
}

void require_count(int64_t found, int64_t expected, const std::string& what) {
  if (found == expected) return;
  fail_request("{}: expected {} values as its shape says, found {}: the file is damaged", what,
               expected, found);
}

/// Of a tensor whose values stand in the fields for their type.
template <typename Take>
void each_field_value(const TensorProto& tensor, int64_t count, const std::string& what,
                      const Take& take) {
  const auto all = [&](const auto& field, const auto& convert) {
    require_count(field.size(), count, what);
    for (const auto value : field) take(convert(value));
  };
  const auto same = [](auto value) { return value; };
  switch (tensor.data_type()) {
    case TensorProto::FLOAT:
      return all(tensor.float_data(), same);
    case TensorProto::DOUBLE:
      return all(tensor.double_data(), same);
    case TensorProto::FLOAT16:
      return all(tensor.int32_data(),
                 [](int32_t bits) { return half_to_float(static_cast<uint16_t>(bits)); });
    case TensorProto::BFLOAT16:
      return all(tensor.int32_data(), [](int32_t bits) {
        BFloat16 value;
        value.bits = static_cast<uint16_t>(bits);
        return static_cast<float>(value);
      });
    case TensorProto::INT64:
      return all(tensor.int64_data(), same);
    case TensorProto::UINT32:
    case TensorProto::UINT64:
      return all(tensor.uint64_data(), same);
    default:
      return all(tensor.int32_data(), same);
  }
}

template <typename T>
void copy_values(const TensorProto& tensor, int64_t count, const std::string& what, T* to) {
  if (!tensor.has_raw_data() || (count > 0 && tensor.raw_data().empty())) {
    each_field_value(tensor, count, what, [&](auto value) { *to++ = static_cast<T>(value); });
    return;
  }
  const size_t width = element_bytes(tensor.data_type());
  const std::string& raw = tensor.raw_data();
  require_count(static_cast<int64_t>(raw.size() / width), count, what);
  for (int64_t i = 0; i < count; ++i) {
    const char* at = raw.data() + static_cast<size_t>(i) * width;
    if constexpr (std::is_floating_point_v<T>) {
      *to++ = static_cast<T>(number_at(at, tensor.data_type()));
    } else {
      *to++ = integer_at(at, tensor.data_type());
    }
  }
}

/// Where the values of an external tensor are.
struct Place {
  std::filesystem::path file = {};
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

uint64_t whole_number(const std::string& text, const std::string& what) {
  if (text.empty() || text.size() > 18 ||
      text.find_first_not_of("0123456789") != std::string::npos) {
    fail_request("{}: expected a number of bytes for its external data, found '{}'", what, text);
  }
  return std::stoull(text);
}

/// A file names others only beside or below itself: what came from elsewhere must not read ours.
Place place_of(const TensorProto& tensor, const std::filesystem::path& folder, uint64_t bytes,
               const std::string& what) {
  Place place{.bytes = bytes};
  std::filesystem::path location;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") place.offset = whole_number(entry.value(), what);
    if (entry.key() == "length") place.bytes = whole_number(entry.value(), what);
  }
  if (location.empty()) {
    fail_request(
        "{}: its values were left out of this file, which holds the network alone: take the "
        "weights from a checkpoint (--weights RUN) or from the original file",
        what);
  }
  const auto leaves = [](const std::filesystem::path& part) { return part == ".."; };
  if (location.is_absolute() || std::any_of(location.begin(), location.end(), leaves)) {
    fail_request("{}: expected its external data beside the file, found '{}': put it there", what,
                 location.string());
  }
  if (place.bytes != bytes) {
    fail_request("{}: expected {} bytes of external data as its shape says, found {}", what, bytes,
                 place.bytes);
  }
  place.file = folder / location;
  // Links count by where they lead to. Folders without a name are the current one.
  std::error_code error;
  const std::filesystem::path home =
      std::filesystem::weakly_canonical(folder.empty() ? "." : folder, error);
  const std::filesystem::path there = std::filesystem::weakly_canonical(place.file, error);
  const auto [end, rest] = std::mismatch(home.begin(), home.end(), there.begin(), there.end());
  if (error || end != home.end()) {
    fail_request(
        "{}: expected its external data beside the file, found '{}', a link to {}: put "
        "the data itself there",
        what, location.string(), there.string());
  }
  return place;
}

std::string read_place(const Place& place, const std::string& what) {
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(place.file, error);
  if (error) {
    fail_request(
        "{}: its values lie in {}, which cannot be read ({}): put that file beside the "
        ".onnx file",
        what, place.file.string(), error.message());
  }
  if (place.offset > size || place.bytes > size - place.offset) {
    fail_request("{}: expected {} bytes at offset {} of {}, which has {}: it is truncated", what,
                 place.bytes, place.offset, place.file.string(), size);
  }
  std::ifstream in(place.file, std::ios::binary);
  std::string bytes(place.bytes, '\0');
  in.seekg(static_cast<std::streamoff>(place.offset));
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!in) fail_request("{}: {} cannot be read", what, place.file.string());
  return bytes;
}

}  // namespace

std::string element_name(int type) {
  static const std::map<int, std::string> names = {
      {TensorProto::FLOAT, "float32"},   {TensorProto::DOUBLE, "float64"},
      {TensorProto::FLOAT16, "float16"}, {TensorProto::BFLOAT16, "bfloat16"},
      {TensorProto::INT64, "int64"},     {TensorProto::INT32, "int32"},
      {TensorProto::INT16, "int16"},     {TensorProto::INT8, "int8"},
      {TensorProto::UINT64, "uint64"},   {TensorProto::UINT32, "uint32"},
      {TensorProto::UINT16, "uint16"},   {TensorProto::UINT8, "uint8"},
      {TensorProto::BOOL, "bool"},       {TensorProto::STRING, "string"},
  };
  const auto found = names.find(type);
  return found == names.end() ? fmt::format("element type {}", type) : found->second;
}

bool is_float_type(int type, const std::string& what) {
  switch (type) {
    case TensorProto::FLOAT:
    case TensorProto::DOUBLE:
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16:
      return true;
    case TensorProto::INT64:
    case TensorProto::INT32:
    case TensorProto::INT16:
    case TensorProto::INT8:
    case TensorProto::UINT64:
    case TensorProto::UINT32:
    case TensorProto::UINT16:
    case TensorProto::UINT8:
    case TensorProto::BOOL:
      return false;
    default:
      fail_request("{}: expected floats, integers or truth values, found {}", what,
                   element_name(type));
  }
}

std::vector<int64_t> shape_of(const TensorProto& tensor, const std::string& what) {
  if (tensor.dims_size() > Shape::kMaxRank) {
    fail_request("{}: expected at most {} axes, found {}", what, Shape::kMaxRank,
                 tensor.dims_size());
  }
  int64_t elements = 1;
  for (const int64_t extent : tensor.dims()) {
    if (extent < 0 || (elements > 0 && extent > kMostElements / elements)) {
      fail_request("{}: the extent {} is out of range", what, extent);
    }
    elements *= extent;
  }
  return {tensor.dims().begin(), tensor.dims().end()};
}

bool is_external(const TensorProto& tensor) {
  return tensor.data_location() == TensorProto::EXTERNAL;
}

Array array_of(const TensorProto& tensor, const std::string& what) {
  const bool floats = is_float_type(tensor.data_type(), what);
  Array array{.shape = shape_of(tensor, what)};
  const int64_t count = product(array.shape);
  // A shape alone must not make us take memory: as many bytes as values must be there.
  const auto stored = static_cast<int64_t>(tensor.ByteSizeLong());
  if (count > 8 * stored) require_count(0, count, what);
  if (floats) {
    auto& values = array.values.emplace<1>(static_cast<size_t>(count));
    copy_values(tensor, count, what, values.data());
  } else {
    auto& values = array.values.emplace<0>(static_cast<size_t>(count));
    copy_values(tensor, count, what, values.data());
  }
  return array;
}

Tensor weights_of(const TensorProto& tensor, const std::filesystem::path& folder,
                  const std::string& what) {
  const std::vector<int64_t> shape = shape_of(tensor, what);
  const int64_t count = product(shape);
  const auto stored = static_cast<int64_t>(tensor.ByteSizeLong());
  if (!is_external(tensor) && count > 8 * stored) require_count(0, count, what);
  if (!is_external(tensor)) {
    Tensor result({DType::f32, Shape(shape)});
    copy_values(tensor, count, what, result.as<float>());
    return result;
  }
  const size_t bytes = static_cast<size_t>(count) * element_bytes(tensor.data_type());
  TensorProto inside;
  inside.set_data_type(tensor.data_type());
  inside.set_raw_data(read_place(place_of(tensor, folder, bytes, what), what));
  Tensor result({DType::f32, Shape(shape)});
  copy_values(inside, count, what, result.as<float>());
  return result;
}

}  // namespace syrtos::onnx

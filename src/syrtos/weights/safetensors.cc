#include "syrtos/weights/safetensors.h"

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"
#include "syrtos/tensor/half.h"

namespace syrtos::weights {

using nlohmann::json;

namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

constexpr uint64_t kMostHeader = 100'000'000;  // as the format says
constexpr uint64_t kMostElements = uint64_t{1} << 34;

/// Bytes of an element; 0: no such type.
uint64_t width_of(std::string_view dtype) {
  if (dtype == "F64" || dtype == "I64" || dtype == "U64") return 8;
  if (dtype == "F32" || dtype == "I32" || dtype == "U32") return 4;
  if (dtype == "F16" || dtype == "BF16" || dtype == "I16" || dtype == "U16") return 2;
  if (dtype == "I8" || dtype == "U8" || dtype == "BOOL") return 1;
  return 0;
}

bool is_float(std::string_view dtype) {
  return dtype == "F64" || dtype == "F32" || dtype == "F16" || dtype == "BF16";
}

template <typename T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

float number_at(const char* at, std::string_view dtype) {
  if (dtype == "F64") return static_cast<float>(load<double>(at));
  if (dtype == "F16") return half_to_float(load<uint16_t>(at));
  if (dtype == "BF16") {
    BFloat16 value;
    value.bits = load<uint16_t>(at);
    return static_cast<float>(value);
  }
  return load<float>(at);
}

struct Extents {
  Shape shape;
  uint64_t elements = 1;
};

Extents extents_of(const json& list, const std::string& where) {
  if (!list.is_array() || list.size() > static_cast<size_t>(Shape::kMaxRank)) {
    fail_request("{}: expected a shape of at most {} axes, found {}", where, Shape::kMaxRank,
                 list.is_array() ? std::to_string(list.size()) : "something else");
  }
  Extents extents;
  for (const json& extent : list) {
    const bool whole = extent.is_number_unsigned();
    const uint64_t value = whole ? extent.get<uint64_t>() : 0;
    if (!whole || (value > 0 && extents.elements > kMostElements / value)) {
      fail_request("{}: the extent {} is out of range", where, extent.dump());
    }
    extents.elements *= value;
    extents.shape.append(static_cast<int64_t>(value));
  }
  return extents;
}

}  // namespace

SafetensorsFile::SafetensorsFile(std::filesystem::path file)
    : file_(std::move(file)), in_(file_, std::ios::binary) {
  std::error_code error;
  const bool regular = std::filesystem::is_regular_file(file_, error);
  size_ = regular ? std::filesystem::file_size(file_, error) : 0;
  if (!regular || error || !in_) {
    fail_request("{}: expected a file of weights, found {}", file_.string(),
                 error     ? error.message()
                 : regular ? "one that cannot be read"
                           : "none");
  }
  read_header();
}

void SafetensorsFile::read_header() {
  uint64_t length = 0;
  if (size_ < sizeof length) {
    fail_request("{}: not a safetensors file, or truncated: it has {} bytes", file_.string(),
                 size_);
  }
  in_.read(reinterpret_cast<char*>(&length), sizeof length);
  const uint64_t room = size_ - sizeof length;
  if (length < 2 || length > kMostHeader || length > room) {
    fail_request(
        "{}: not a safetensors file, or truncated: its first 8 bytes say that the header has {} "
        "bytes, the file has {}",
        file_.string(), length, size_);
  }
  std::string text(length, '\0');
  in_.read(text.data(), static_cast<std::streamsize>(length));
  const json header = in_ ? json::parse(text, nullptr, false) : json();
  if (!header.is_object()) {
    fail_request("{}: not a safetensors file: expected a header in JSON, found something else",
                 file_.string());
  }
  const uint64_t data = sizeof length + length;
  for (const auto& [name, entry] : header.items()) {
    const std::string where = fmt::format("{}: '{}'", file_.string(), name);
    if (name == "__metadata__") {
      if (!entry.is_object()) fail_request("{}: expected an object", where);
      for (const auto& [key, value] : entry.items()) {
        if (value.is_string()) metadata_[key] = value.get<std::string>();
      }
      continue;
    }
    const bool complete = entry.is_object() && entry.contains("dtype") &&
                          entry["dtype"].is_string() && entry.contains("shape") &&
                          entry.contains("data_offsets") && entry["data_offsets"].is_array() &&
                          entry["data_offsets"].size() == 2 &&
                          entry["data_offsets"][0].is_number_unsigned() &&
                          entry["data_offsets"][1].is_number_unsigned();
    if (!complete) fail_request("{}: expected dtype, shape and two data_offsets", where);
    Stored stored{.dtype = entry["dtype"].get<std::string>()};
    const uint64_t width = width_of(stored.dtype);
    if (width == 0) {
      fail_request("{}: expected an element type such as F32, F16 or BF16, found {}", where,
                   stored.dtype);
    }
    const Extents extents = extents_of(entry["shape"], where);
    const uint64_t begin = entry["data_offsets"][0].get<uint64_t>();
    const uint64_t end = entry["data_offsets"][1].get<uint64_t>();
    if (begin > end || end > size_ - data || end - begin != extents.elements * width) {
      fail_request(
          "{}: expected {} bytes within the {} of the file's data, found offsets {} to {}: it is "
          "truncated or damaged",
          where, extents.elements * width, size_ - data, begin, end);
    }
    if (!is_float(stored.dtype)) continue;  // counters and the like
    stored.begin = data + begin;
    stored.bytes = end - begin;
    entries_.push_back({name, extents.shape});
    stored_.emplace(name, std::move(stored));
  }
}

Tensor SafetensorsFile::read(const Entry& entry) {
  const Stored& stored = stored_.at(entry.name);
  std::string bytes(stored.bytes, '\0');
  in_.clear();
  in_.seekg(static_cast<std::streamoff>(stored.begin));
  in_.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!in_) {
    fail_request("{}: '{}' cannot be read: was the file changed?", file_.string(), entry.name);
  }
  Tensor tensor({DType::f32, entry.shape});
  const uint64_t width = width_of(stored.dtype);
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.as<float>()[i] = number_at(bytes.data() + static_cast<size_t>(i) * width, stored.dtype);
  }
  return tensor;
}

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& file, std::vector<Entry> entries,
                                     const std::map<std::string, std::string>& metadata)
    : out_(file), entries_(std::move(entries)) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const Entry& entry : entries_) {
    const uint64_t bytes = static_cast<uint64_t>(entry.shape.elements()) * sizeof(float);
    header[entry.name] = {{"dtype", "F32"},
                          {"shape", std::vector<int64_t>(entry.shape.begin(), entry.shape.end())},
                          {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data is aligned, for readers that map it
  const uint64_t length = text.size();
  out_.write(&length, sizeof length);
  out_.write(text);
}

void SafetensorsWriter::write(const Tensor& tensor) {
  SYRTOS_CHECK(next_ < entries_.size() && tensor.shape() == entries_[next_].shape &&
                   tensor.dtype() == DType::f32,
               "{}", to_string(tensor.type()));
  out_.write(tensor.data(), static_cast<size_t>(tensor.elements()) * sizeof(float));
  ++next_;
}

void SafetensorsWriter::finish() {
  SYRTOS_CHECK(next_ == entries_.size(), "{} of {}", next_, entries_.size());
  out_.commit();
}

}  // namespace syrtos::weights

#include "syrtos/train/checkpoint/checkpoint.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "syrtos/base/crc32.h"
#include "syrtos/base/error.h"
#include "syrtos/base/log.h"

namespace syrtos::train {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "files are little-endian");

namespace {

constexpr char kMagic[8] = {'S', 'Y', 'R', 'T', 'O', 'S', 'C', 'K'};
constexpr uint32_t kVersion = 2;

struct Prefix {
  char magic[8];
  uint32_t version;
  uint32_t header_crc;
  uint64_t header_bytes;
  uint64_t data_bytes;
};
static_assert(sizeof(Prefix) == 32);

constexpr uint64_t kTrailer = sizeof(uint32_t);
// Of half a million tensors. As parsed text it takes many times as much memory.
constexpr uint64_t kMostHeader = uint64_t{64} << 20;

}  // namespace

CheckpointWriter::CheckpointWriter(const std::filesystem::path& file, const json& meta,
                                   std::vector<CheckpointTensor> tensors)
    : file_(file), out_(file), tensors_(std::move(tensors)) {
  json list = json::array();
  uint64_t offset = 0;
  for (CheckpointTensor& tensor : tensors_) {
    tensor.offset = offset;
    offset += tensor.bytes();
    list.push_back({{"name", tensor.name},
                    {"shape", std::vector<int64_t>(tensor.shape.begin(), tensor.shape.end())},
                    {"offset", tensor.offset}});
  }
  const std::string header = json{{"meta", meta}, {"tensors", list}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
  Prefix prefix{};
  std::memcpy(prefix.magic, kMagic, sizeof kMagic);
  prefix.version = kVersion;
  prefix.header_crc = crc32(0, header.data(), header.size());
  prefix.header_bytes = header.size();
  prefix.data_bytes = offset;
  out_.write(&prefix, sizeof prefix);
  out_.write(header);
}

void CheckpointWriter::write(const Tensor& tensor) {
  SYRTOS_CHECK(next_ < tensors_.size() && tensor.shape() == tensors_[next_].shape &&
                   tensor.dtype() == DType::f32,
               "tensor {}", next_);
  const size_t bytes = tensors_[next_++].bytes();
  crc_ = crc32(crc_, tensor.data(), bytes);
  out_.write(tensor.data(), bytes);
}

void CheckpointWriter::finish(const std::filesystem::path& before,
                              const std::function<void()>& last_look) {
  SYRTOS_CHECK(next_ == tensors_.size(), "{} of {}", next_, tensors_.size());
  out_.write(&crc_, sizeof crc_);
  out_.commit(before, last_look);
  log_info("wrote the checkpoint {}: {} tensors", file_.string(), tensors_.size());
}

CheckpointReader::CheckpointReader(std::filesystem::path file, CheckpointPart part)
    : file_(std::move(file)), in_(file_, std::ios::binary) {
  std::error_code error;
  size_ = std::filesystem::file_size(file_, error);
  if (!in_ || error) {
    fail_request("cannot read the checkpoint {}: {}", file_.string(),
                 error ? error.message() : std::strerror(errno));
  }
  read_header();
  if (part == CheckpointPart::header) return;
  check_data();
  log_info("read the checkpoint {}: {} tensors, {} bytes", file_.string(), tensors_.size(), size_);
}

void CheckpointReader::get(void* to, uint64_t offset, size_t bytes, const char* what) {
  in_.clear();
  in_.seekg(static_cast<std::streamoff>(offset));
  in_.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
  if (!in_) {
    fail_request("{}: cannot read {} bytes of the {} at offset {}", file_.string(), bytes, what,
                 offset);
  }
}

void CheckpointReader::read_header() {
  Prefix prefix{};
  if (size_ < sizeof prefix + kTrailer) {
    fail_request("{}: not a checkpoint: expected at least {} bytes, found {}", file_.string(),
                 sizeof prefix + kTrailer, size_);
  }
  get(&prefix, 0, sizeof prefix, "header");
  if (std::memcmp(prefix.magic, kMagic, sizeof kMagic) != 0) {
    fail_request("{}: not a checkpoint: expected \"SYRTOSCK\" at offset 0, found something else",
                 file_.string());
  }
  if (prefix.version != kVersion) {
    throw OtherRelease(
        fmt::format("{}: at offset 8 expected version {}, found {}: written by another release",
                    file_.string(), kVersion, prefix.version));
  }
  const uint64_t room = size_ - sizeof prefix - kTrailer;
  if (prefix.header_bytes > room) {
    fail_request("{}: truncated: at offset 16 the header has {} bytes, the file has room for {}",
                 file_.string(), prefix.header_bytes, room);
  }
  if (prefix.data_bytes != room - prefix.header_bytes) {
    fail_request("{}: truncated or damaged: at offset 24 expected {} bytes of data, found {}",
                 file_.string(), prefix.data_bytes, room - prefix.header_bytes);
  }
  if (prefix.header_bytes > kMostHeader) {
    fail_request("{}: at offset 16 expected a header of at most {} bytes, found one of {}",
                 file_.string(), kMostHeader, prefix.header_bytes);
  }
  std::string header(prefix.header_bytes, '\0');
  get(header.data(), sizeof prefix, header.size(), "header");
  const uint32_t crc = crc32(0, header.data(), header.size());
  if (crc != prefix.header_crc) {
    fail_request("{}: damaged: at offset 12 expected the header's checksum {:08x}, found {:08x}",
                 file_.string(), crc, prefix.header_crc);
  }
  data_offset_ = sizeof prefix + prefix.header_bytes;
  data_bytes_ = prefix.data_bytes;
  const json parsed = json::parse(header, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("meta") || !parsed["meta"].is_object() ||
      !parsed.contains("tensors") || !parsed["tensors"].is_array()) {
    fail_request(
        "{}: at offset {} expected a header with 'meta' and 'tensors', found something else",
        file_.string(), sizeof prefix);
  }
  meta_ = parsed["meta"];
  parse_tensors(parsed["tensors"]);
}

void CheckpointReader::parse_tensors(const json& list) {
  uint64_t expected = 0;
  std::set<std::string> names;
  for (const json& entry : list) {
    const std::string where = fmt::format("{}: tensor {}", file_.string(), tensors_.size());
    const bool complete = entry.is_object() && entry.contains("name") &&
                          entry["name"].is_string() && entry.contains("shape") &&
                          entry["shape"].is_array() && entry.contains("offset") &&
                          entry["offset"].is_number_unsigned();
    if (!complete) fail_request("{}: expected name, shape and offset, found otherwise", where);
    CheckpointTensor tensor;
    tensor.name = entry["name"].get<std::string>();
    if (!names.insert(tensor.name).second) {
      fail_request("{}: the name '{}' is there twice", where, tensor.name);
    }
    if (entry["shape"].size() > static_cast<size_t>(Shape::kMaxRank)) {
      fail_request("{} ({}): expected at most {} axes, found {}", where, tensor.name,
                   Shape::kMaxRank, entry["shape"].size());
    }
    uint64_t elements = 1;
    for (const json& extent : entry["shape"]) {
      const uint64_t value = extent.is_number_unsigned() ? extent.get<uint64_t>() : 0;
      if (value < 1 || value > data_bytes_ / sizeof(float) / elements) {
        fail_request("{} ({}): the extent {} does not fit {} bytes of data", where, tensor.name,
                     extent.dump(), data_bytes_);
      }
      elements *= value;
      tensor.shape.append(static_cast<int64_t>(value));
    }
    tensor.offset = entry["offset"].get<uint64_t>();
    if (tensor.offset != expected || tensor.bytes() > data_bytes_ - expected) {
      fail_request("{} ({}): expected offset {} and at most {} bytes, found {} and {}", where,
                   tensor.name, expected, data_bytes_ - expected, tensor.offset, tensor.bytes());
    }
    expected += tensor.bytes();
    tensors_.push_back(std::move(tensor));
  }
  if (expected != data_bytes_) {
    fail_request("{}: the tensors have {} bytes, the data {}", file_.string(), expected,
                 data_bytes_);
  }
}

void CheckpointReader::check_data() {
  std::vector<char> chunk(size_t{1} << 20);
  uint32_t crc = 0;
  for (uint64_t at = 0; at < data_bytes_; at += chunk.size()) {
    const size_t bytes = std::min<uint64_t>(chunk.size(), data_bytes_ - at);
    get(chunk.data(), data_offset_ + at, bytes, "data");
    crc = crc32(crc, chunk.data(), bytes);
  }
  uint32_t stored = 0;
  get(&stored, data_offset_ + data_bytes_, sizeof stored, "checksum");
  if (stored != crc) {
    fail_request("{}: damaged: at offset {} expected the data's checksum {:08x}, found {:08x}",
                 file_.string(), data_offset_ + data_bytes_, crc, stored);
  }
}

const CheckpointTensor* CheckpointReader::find(std::string_view name) const {
  const auto found = std::find_if(tensors_.begin(), tensors_.end(),
                                  [&](const CheckpointTensor& t) { return t.name == name; });
  return found == tensors_.end() ? nullptr : &*found;
}

Tensor CheckpointReader::read(const CheckpointTensor& tensor) {
  Tensor result({DType::f32, tensor.shape});
  get(result.data(), data_offset_ + tensor.offset, tensor.bytes(), "data");
  return result;
}

}  // namespace syrtos::train

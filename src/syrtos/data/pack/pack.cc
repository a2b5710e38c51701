#include "syrtos/data/pack/pack.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "syrtos/base/crc32.h"
#include "syrtos/base/error.h"
#include "syrtos/data/pack/pack_format.h"
#include "syrtos/tensor/buffer.h"

namespace syrtos::data {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

bool all_zero(std::span<const char> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; });
}

void check_prefix(const MappedFile& map) {
  const std::string name = map.file().string();
  PackPrefix prefix{};
  if (map.size() < sizeof prefix + sizeof(PackTrailer)) {
    fail_request("{}: not a pack: expected at least {} bytes, found {}", name,
                 sizeof prefix + sizeof(PackTrailer), map.size());
  }
  std::memcpy(&prefix, map.data(), sizeof prefix);
  if (std::memcmp(prefix.magic, kPackMagic, sizeof kPackMagic) != 0) {
    fail_request("{}: not a pack: expected \"SYRTOSPK\" at offset 0, found something else", name);
  }
  if (prefix.version != kPackVersion && prefix.version != kPackValuesVersion) {
    fail_request(
        "{}: at offset 8 expected version {} or {}, found {}: written by another release; "
        "pack the data again",
        name, kPackVersion, kPackValuesVersion, prefix.version);
  }
  if (!all_zero(prefix.zeros)) {
    fail_request("{}: damaged: at offset 12 expected zeros, found something else", name);
  }
}

PackTrailer read_trailer(const MappedFile& map) {
  const std::string name = map.file().string();
  const uint64_t at = map.size() - sizeof(PackTrailer);
  PackTrailer trailer{};
  std::memcpy(&trailer, map.data() + at, sizeof trailer);
  if (std::memcmp(trailer.magic, kPackMagic, sizeof kPackMagic) != 0) {
    fail_request(
        "{}: truncated or damaged: expected \"SYRTOSPK\" at offset {}, found something "
        "else; copy or pack it again",
        name, at + offsetof(PackTrailer, magic));
  }
  const uint32_t crc = crc32(0, &trailer, kPackTrailerCrc);
  if (crc != trailer.crc || !all_zero(trailer.zeros)) {
    fail_request(
        "{}: damaged: at offset {} expected the trailer's checksum {:08x}, found {:08x}; "
        "copy or pack it again",
        name, at + kPackTrailerCrc, crc, trailer.crc);
  }
  if (trailer.payload > static_cast<uint32_t>(PackPayload::pictures)) {
    fail_request("{}: at offset {} expected payload 0 or 1, found {}", name,
                 at + offsetof(PackTrailer, payload), trailer.payload);
  }
  return trailer;
}

/// Copies `count` values and steps over them: what was checked must not change any more.
template <typename T>
void take(const uint8_t*& from, uint64_t count, std::vector<T>& to) {
  to.resize(count);
  if (count > 0) std::memcpy(to.data(), from, count * sizeof(T));
  from += count * sizeof(T);
}

}  // namespace

Pack::Pack(const fs::path& file, PictureDecoder decode) : map_(file), decode_(std::move(decode)) {
  try {
    check_prefix(map_);
    read_directory();
  } catch (const RequestError&) {
    map_.check();  // that it was cut just now explains the rest
    throw;
  }
  map_.check();
}

void Pack::read_directory() {
  const PackTrailer trailer = read_trailer(map_);
  const uint64_t at = map_.size() - sizeof trailer;
  const uint64_t room = at - sizeof(PackPrefix);
  const bool pictures = trailer.payload == static_cast<uint32_t>(PackPayload::pictures);
  payload_ = static_cast<PackPayload>(trailer.payload);
  if (trailer.directory % kPackAlignment != 0 || trailer.directory < sizeof(PackPrefix) ||
      trailer.directory > at) {
    fail_request(
        "{}: at offset {} expected the directory at a multiple of {} from {} to {}, found "
        "{}",
        name(), at, kPackAlignment, sizeof(PackPrefix), at, trailer.directory);
  }
  // Each count is held against the file's length first, so that no product can overflow.
  if (trailer.samples < 1 || trailer.samples > room / sizeof(int32_t) || trailer.blocks < 1 ||
      trailer.blocks > room / sizeof(PackBlock) ||
      trailer.meta_bytes > std::min(room, kPackMaxMeta)) {
    fail_request(
        "{}: at offset {} expected counts that fit {} bytes, found {} samples, {} blocks "
        "and {} bytes of meta",
        name(), at + 8, room, trailer.samples, trailer.blocks, trailer.meta_bytes);
  }
  const uint64_t each = std::max<uint32_t>(1, trailer.values);
  if (each > room / sizeof(float) / trailer.samples) {
    fail_request(
        "{}: at offset {} expected values that fit {} bytes, found {} for each of {} "
        "samples",
        name(), at + offsetof(PackTrailer, values), room, each, trailer.samples);
  }
  const uint64_t target_bytes = align_up(trailer.samples * each * sizeof(float), 8);
  const uint64_t extent_count = pictures ? trailer.samples : 0;
  const uint64_t bytes = target_bytes + extent_count * sizeof(PackExtent) +
                         trailer.blocks * sizeof(PackBlock) + trailer.meta_bytes;
  if (bytes != at - trailer.directory) {
    fail_request("{}: at offset {} expected a directory of {} bytes, found {}", name(),
                 trailer.directory, bytes, at - trailer.directory);
  }
  const uint8_t* from = map_.data() + trailer.directory;
  const uint32_t crc = crc32(0, from, bytes);
  if (crc != trailer.directory_crc) {
    fail_request(
        "{}: damaged: at offset {} expected the directory's checksum {:08x}, found "
        "{:08x}; copy or pack it again",
        name(), at + offsetof(PackTrailer, directory_crc), crc, trailer.directory_crc);
  }
  const uint8_t* const targets = from;
  from += target_bytes;
  const auto extents_at = static_cast<uint64_t>(from - map_.data());
  take(from, extent_count, extents_);
  const auto blocks_at = static_cast<uint64_t>(from - map_.data());
  take(from, trailer.blocks, blocks_);
  const std::string meta(reinterpret_cast<const char*>(from), trailer.meta_bytes);
  info_.size = static_cast<int64_t>(trailer.samples);
  info_.targets.values = trailer.values;
  parse_meta(meta, static_cast<uint64_t>(from - map_.data()));
  take_targets(targets, trailer.directory, trailer.samples);
  data_end_ = trailer.directory;
  check_blocks(blocks_at, trailer.directory);
  check_extents(extents_at);
  verified_ = std::make_unique<std::atomic<bool>[]>(blocks_.size());
}

void Pack::take_targets(const uint8_t* from, uint64_t at, uint64_t samples) {
  if (info_.targets.values > 0) {
    std::vector<float> values;
    take(from, samples * static_cast<uint64_t>(info_.targets.values), values);
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::isfinite(values[i])) continue;
      fail_request("{}: at offset {} expected a finite value, found {}", name(),
                   at + i * sizeof(float), values[i]);
    }
    targets_ = {std::move(values), info_.targets.values};
    return;
  }
  std::vector<int32_t> labels;
  take(from, samples, labels);
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= 0 && static_cast<size_t>(labels[i]) < info_.classes.size()) continue;
    fail_request("{}: at offset {} expected a label below {}, found {}", name(),
                 at + i * sizeof(int32_t), info_.classes.size(), labels[i]);
  }
  targets_ = std::move(labels);
}

/// Blocks begin at 64 and follow each other up to the directory, and so do their samples.
void Pack::check_blocks(uint64_t at, uint64_t end) {
  for (size_t k = 0; k < blocks_.size(); ++k) {
    const PackBlock& block = blocks_[k];
    const bool begins =
        k == 0 ? block.offset == sizeof(PackPrefix) && block.first == 0
               : block.offset > blocks_[k - 1].offset && block.first > blocks_[k - 1].first;
    if (!begins || block.offset % kPackAlignment != 0 || block.offset >= end ||
        block.first >= static_cast<uint64_t>(info_.size) || block.zero != 0) {
      fail_request(
          "{}: at offset {} expected block {} after the one before and before {}, found "
          "offset {} and first sample {}",
          name(), at + k * sizeof(PackBlock), k, end, block.offset, block.first);
    }
  }
}

/// Every sample lies within its block.
void Pack::check_extents(uint64_t at) {
  for (size_t k = 0; k < blocks_.size(); ++k) {
    const bool last = k + 1 == blocks_.size();
    const uint64_t end = last ? data_end_ : blocks_[k + 1].offset;
    const uint64_t next = last ? static_cast<uint64_t>(info_.size) : blocks_[k + 1].first;
    if (payload_ == PackPayload::raw) {
      const uint64_t bytes = extent(0, 0).bytes;
      if ((end - blocks_[k].offset) / bytes < next - blocks_[k].first) {
        fail_request("{}: block {} at offset {}: expected {} samples of {} bytes, found {} bytes",
                     name(), k, blocks_[k].offset, next - blocks_[k].first, bytes,
                     end - blocks_[k].offset);
      }
      continue;
    }
    for (uint64_t i = blocks_[k].first; i < next; ++i) {
      const PackExtent& e = extents_[i];
      if (e.offset < blocks_[k].offset || e.offset > end || e.bytes < 1 ||
          e.bytes > end - e.offset) {
        fail_request("{}: at offset {} expected sample {} within {} to {}, found {} bytes at {}",
                     name(), at + i * sizeof(PackExtent), i, blocks_[k].offset, end, e.bytes,
                     e.offset);
      }
    }
  }
}

namespace {

/// An integer of at most `limit`, or -1.
int64_t integer(const json& meta, const char* key, uint64_t limit) {
  const auto found = meta.find(key);
  if (found == meta.end() || !found->is_number_unsigned()) return -1;
  const auto value = found->get<uint64_t>();
  return value <= limit ? static_cast<int64_t>(value) : -1;
}

bool strings(const json& meta, const char* key, std::vector<std::string>& to) {
  const auto found = meta.find(key);
  if (found == meta.end() || !found->is_array()) return false;
  for (const json& value : *found) {
    if (!value.is_string()) return false;
    to.push_back(value.get<std::string>());
  }
  return true;
}

/// Shape, names and kind of values, of which there are so many.
bool parse_targets(const json& meta, TargetInfo& to) {
  const auto found = meta.find("targets");
  if (found == meta.end() || !found->is_object() || !strings(*found, "names", to.names)) {
    return false;
  }
  const json shape = found->value("shape", json());
  if (!shape.is_array()) return false;
  uint64_t product = 1;
  for (const json& extent : shape) {
    if (!extent.is_number_unsigned()) return false;
    to.shape.push_back(extent.get<int64_t>());
    if (__builtin_mul_overflow(product, extent.get<uint64_t>(), &product)) return false;
  }
  const json binary = found->value("binary", json());
  to.binary = binary.is_boolean() && binary.get<bool>();
  const auto values = static_cast<uint64_t>(to.values);
  return (shape.empty() || product == values) && (to.names.empty() || to.names.size() == values);
}

}  // namespace

void Pack::parse_meta(std::string_view text, uint64_t at) {
  const auto refuse = [&](const std::string& expected) {
    fail_request("{}: at offset {} expected {}, found otherwise", name(), at, expected);
  };
  const json meta = json::parse(text, nullptr, false);
  if (!meta.is_object() || !meta.contains("name") || !meta["name"].is_string() ||
      !meta.contains("dtype") || !meta["dtype"].is_string()) {
    refuse("JSON with 'name' and 'dtype'");
  }
  info_.name = meta["name"].get<std::string>();
  const auto dtype = meta["dtype"].get<std::string>();
  if (dtype != "u8" && !(dtype == "f32" && payload_ == PackPayload::raw)) {
    refuse("'dtype' u8, or f32 of raw samples");
  }
  info_.dtype = dtype == "u8" ? DType::u8 : DType::f32;
  // Any single extent is at most the file's length, so the first two products fit 64 bits only
  // below 2^31: larger samples do not exist.
  constexpr uint64_t kMost = (uint64_t{1} << 31) - 1;
  info_.channels =
      integer(meta, "channels", payload_ == PackPayload::pictures ? 3 : uint64_t{1} << 20);
  info_.height = integer(meta, "height", kMost);
  info_.width = integer(meta, "width", kMost);
  const bool sizes = info_.same_size() ||
                     (payload_ == PackPayload::pictures && info_.height == 0 && info_.width == 0);
  const bool known = info_.channels >= 1 && sizes &&
                     (payload_ == PackPayload::raw || info_.channels != 2);  // grey or colour
  const auto pixels = known ? static_cast<uint64_t>(info_.height * info_.width) : 0;
  if (!known || pixels > kMost ||
      (payload_ == PackPayload::raw &&
       pixels * static_cast<uint64_t>(info_.channels) * size_of(info_.dtype) > map_.size())) {
    refuse(fmt::format("'channels', 'height' and 'width' of samples within {} bytes", map_.size()));
  }
  if (!strings(meta, "classes", info_.classes)) refuse("'classes' as a list of names");
  if (meta.contains("columns") &&
      (!strings(meta, "columns", info_.columns) || std::ssize(info_.columns) != info_.width)) {
    refuse(fmt::format("'columns' as {} names", info_.width));
  }
  if (info_.targets.values > 0 && !parse_targets(meta, info_.targets)) {
    refuse(fmt::format("'targets' with a shape and names of {} values", info_.targets.values));
  }
}

size_t Pack::block_of(int64_t index) const {
  const auto next =
      std::upper_bound(blocks_.begin(), blocks_.end(), static_cast<uint64_t>(index),
                       [](uint64_t value, const PackBlock& block) { return value < block.first; });
  return static_cast<size_t>(next - blocks_.begin()) - 1;
}

PackExtent Pack::extent(int64_t index, size_t block) const {
  if (payload_ == PackPayload::pictures) return extents_[static_cast<size_t>(index)];
  const uint64_t bytes = static_cast<uint64_t>(info_.shape().elements()) * size_of(info_.dtype);
  const uint64_t within = static_cast<uint64_t>(index) - blocks_[block].first;
  return {blocks_[block].offset + within * bytes, bytes};
}

void Pack::verify(size_t block) const {
  if (verified_[block].load(std::memory_order_relaxed)) return;
  const uint64_t offset = blocks_[block].offset;
  const uint64_t end = block + 1 < blocks_.size() ? blocks_[block + 1].offset : data_end_;
  const uint32_t crc = crc32(0, map_.data() + offset, end - offset);
  map_.check();
  if (crc != blocks_[block].crc) {
    fail_run(
        "{}: damaged: in block {} at offset {} ({} bytes) expected the checksum {:08x}, found "
        "{:08x}; copy or pack it again",
        name(), block, offset, end - offset, blocks_[block].crc, crc);
  }
  verified_[block].store(true, std::memory_order_relaxed);
}

std::span<const uint8_t> Pack::stored(int64_t index) const {
  SYRTOS_CHECK(index >= 0 && index < info_.size, "sample {} of {}", index, info_.size);
  const size_t block = block_of(index);
  map_.check_before_use();
  verify(block);
  const PackExtent where = extent(index, block);
  return map_.bytes().subspan(where.offset, where.bytes);
}

std::span<const uint8_t> Pack::encoded(int64_t index, Scratch& /*scratch*/) const {
  if (payload_ != PackPayload::pictures) return {};
  return stored(index);
}

Sample Pack::read(int64_t index, Scratch& scratch) const {
  const std::span<const uint8_t> bytes = stored(index);
  Sample sample{.values = bytes.data(),
                .dtype = info_.dtype,
                .channels = info_.channels,
                .height = info_.height,
                .width = info_.width,
                .target = target(index)};
  if (payload_ == PackPayload::raw) return sample;
  const auto offset = extents_[static_cast<size_t>(index)].offset;
  const std::string where = fmt::format("{}, sample {} at offset {}", name(), index, offset);
  try {
    decode_(bytes, where, static_cast<int>(info_.channels), scratch.values, sample.height,
            sample.width);
  } catch (const RequestError& error) {
    map_.check();  // that the file was cut explains the rest
    throw RunError(error.what());
  }
  map_.check();
  if (info_.same_size() && (sample.height != info_.height || sample.width != info_.width)) {
    fail_run("{}: expected a picture of {}x{}, found {}x{}", where, info_.height, info_.width,
             sample.height, sample.width);
  }
  sample.values = scratch.values.data();
  return sample;
}

std::unique_ptr<Pack> open_pack(const fs::path& file, PictureDecoder decode) {
  return std::make_unique<Pack>(file, std::move(decode));
}

}  // namespace syrtos::data

#include <cstring>
#include <nlohmann/json.hpp>

#include "syrtos/base/crc32.h"
#include "syrtos/base/error.h"
#include "syrtos/data/pack/pack.h"
#include "syrtos/data/pack/pack_format.h"
#include "syrtos/tensor/buffer.h"

namespace syrtos::data {

static_assert(sizeof(PackBlock) == 24 && sizeof(PackExtent) == 16);

PackWriter::PackWriter(const std::filesystem::path& file, DatasetInfo info, PackPayload payload)
    : file_(file), info_(std::move(info)), payload_(payload), out_(file) {
  SYRTOS_CHECK(info_.channels > 0 && (info_.dtype == DType::u8 || info_.dtype == DType::f32),
               "{} channels of {}", info_.channels, to_string(info_.dtype));
  SYRTOS_CHECK(payload == PackPayload::pictures
                   ? info_.dtype == DType::u8 && (info_.channels == 1 || info_.channels == 3)
                   : info_.same_size(),
               "{}: {}x{} {}", info_.name, info_.height, info_.width, to_string(info_.dtype));
  PackPrefix prefix{};
  std::memcpy(prefix.magic, kPackMagic, sizeof kPackMagic);
  prefix.version = info_.targets.values > 0 ? kPackValuesVersion : kPackVersion;
  out_.write(&prefix, sizeof prefix);
  offset_ = sizeof prefix;
}

void PackWriter::add(const Sample& sample) {
  SYRTOS_CHECK(payload_ == PackPayload::raw && sample.dtype == info_.dtype &&
                   sample.channels == info_.channels && sample.height == info_.height &&
                   sample.width == info_.width,
               "sample {}: {} {}x{}x{}", samples_, to_string(sample.dtype), sample.height,
               sample.width, sample.channels);
  const auto bytes = static_cast<size_t>(sample.elements()) * size_of(sample.dtype);
  append({sample.bytes(), bytes}, sample.target);
}

void PackWriter::add(std::span<const uint8_t> picture, const Target& target) {
  SYRTOS_CHECK(payload_ == PackPayload::pictures && !picture.empty(), "sample {}: {} bytes",
               samples_, picture.size());
  append(picture, target);
}

void PackWriter::append(std::span<const uint8_t> bytes, const Target& target) {
  const bool fits =
      info_.targets.values > 0
          ? static_cast<int64_t>(target.values.size()) == info_.targets.values
          : target.label >= 0 && static_cast<size_t>(target.label) < info_.classes.size();
  SYRTOS_CHECK(fits, "sample {}: label {} of {}, {} values of {}", samples_, target.label,
               info_.classes.size(), target.values.size(), info_.targets.values);
  if (!block_.empty() && block_.size() + bytes.size() > kPackBlockBytes) flush();
  if (payload_ == PackPayload::pictures)
    extents_.push_back({offset_ + block_.size(), bytes.size()});
  block_.insert(block_.end(), bytes.begin(), bytes.end());
  if (info_.targets.values == 0) labels_.push_back(target.label);
  values_.insert(values_.end(), target.values.begin(), target.values.end());
  ++samples_;
}

void PackWriter::flush() {
  block_.resize(align_up(block_.size(), kPackAlignment));
  blocks_.push_back({.offset = offset_,
                     .first = block_first_,
                     .crc = crc32(0, block_.data(), block_.size()),
                     .zero = 0});
  out_.write(block_.data(), block_.size());
  offset_ += block_.size();
  block_.clear();
  block_first_ = samples_;
}

std::string PackWriter::meta() const {
  nlohmann::json meta = {{"name", info_.name},         {"dtype", to_string(info_.dtype)},
                         {"channels", info_.channels}, {"height", info_.height},
                         {"width", info_.width},       {"classes", info_.classes}};
  if (!info_.columns.empty()) meta["columns"] = info_.columns;
  if (const TargetInfo& targets = info_.targets; targets.values > 0) {
    meta["targets"] = {
        {"shape", targets.shape}, {"names", targets.names}, {"binary", targets.binary}};
  }
  // Names of classes come from names of files, which may be no UTF-8.
  return meta.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void PackWriter::finish() {
  if (samples_ == 0) {
    fail_request("{}: expected at least one sample to pack, found none in {}", file_.string(),
                 info_.name);
  }
  if (!block_.empty()) flush();
  const std::string text = meta();
  PackTrailer trailer{};
  trailer.directory = offset_;
  trailer.samples = samples_;
  trailer.blocks = blocks_.size();
  trailer.meta_bytes = text.size();
  trailer.payload = static_cast<uint32_t>(payload_);
  trailer.values = static_cast<uint32_t>(info_.targets.values);
  const auto put = [&](const void* data, size_t bytes) {
    trailer.directory_crc = crc32(trailer.directory_crc, data, bytes);
    out_.write(data, bytes);
  };
  if (labels_.size() % 2 != 0) labels_.push_back(0);
  if (values_.size() % 2 != 0) values_.push_back(0);
  put(labels_.data(), labels_.size() * sizeof(int32_t));
  put(values_.data(), values_.size() * sizeof(float));
  put(extents_.data(), extents_.size() * sizeof(PackExtent));
  put(blocks_.data(), blocks_.size() * sizeof(PackBlock));
  put(text.data(), text.size());
  trailer.crc = crc32(0, &trailer, kPackTrailerCrc);
  std::memcpy(trailer.magic, kPackMagic, sizeof kPackMagic);
  out_.write(&trailer, sizeof trailer);
  out_.commit();
}

void write_pack(const Dataset& from, const std::filesystem::path& file,
                const std::function<void(int64_t done, int64_t of)>& progress) {
  constexpr int64_t kEvery = 256;
  Scratch scratch;
  const bool pictures = from.size() > 0 && !from.encoded(0, scratch).empty();
  if (!pictures && !from.info().same_size()) {
    fail_request(
        "{}: expected samples of one size to pack, found different sizes; give a size to "
        "bring them to",
        from.info().name);
  }
  PackWriter writer(file, from.info(), pictures ? PackPayload::pictures : PackPayload::raw);
  for (int64_t i = 0; i < from.size(); ++i) {
    if (pictures) {
      from.read(i, scratch);  // a damaged one is known by its file's name now, and not in training
      const auto bytes = from.encoded(i, scratch);
      if (bytes.empty()) {
        fail_run("{}: expected a picture file as sample {}, found none", from.info().name, i);
      }
      writer.add(bytes, from.target(i));
    } else {
      writer.add(from.read(i, scratch));
    }
    from.check();
    if (progress && ((i + 1) % kEvery == 0 || i + 1 == from.size())) progress(i + 1, from.size());
  }
  writer.finish();
}

}  // namespace syrtos::data

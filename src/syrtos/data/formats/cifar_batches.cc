#include "syrtos/data/formats/cifar_batches.h"

#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"
#include "syrtos/data/formats/pickle.h"
#include "syrtos/data/pictures/picture.h"

namespace syrtos::data {

namespace {

// [channel][row][column] becomes [row][column][channel].
void append_planes(std::span<const uint8_t> planes, CifarImages& to) {
  constexpr size_t kPlane = CifarImages::kBytes / 3;
  const size_t before = to.pixels.size();
  to.pixels.resize(before + CifarImages::kBytes);
  uint8_t* pixel = to.pixels.data() + before;
  for (size_t i = 0; i < kPlane; ++i) {
    for (size_t c = 0; c < 3; ++c) *pixel++ = planes[c * kPlane + i];
  }
}

void append_label(int64_t label, int64_t classes, const std::string& where, CifarImages& to) {
  if (label < 0 || label >= classes) {
    fail_request("{} expected a label from 0 to {}, found {}", where, classes - 1, label);
  }
  to.labels.push_back(static_cast<int32_t>(label));
}

}  // namespace

// A record is the label (CIFAR-100: the coarse label, then the fine one) and three planes.
void append_cifar_binary(const CifarFile& file, int64_t classes, CifarImages& to) {
  const size_t label_bytes = classes > 10 ? 2 : 1;
  const size_t record = label_bytes + CifarImages::kBytes;
  if (file.bytes.empty() || file.bytes.size() % record != 0) {
    fail_request("{}: expected records of {} bytes, found {} bytes, which is {} and {} more",
                 file.name, record, file.bytes.size(), file.bytes.size() / record,
                 file.bytes.size() % record);
  }
  for (size_t at = 0; at < file.bytes.size(); at += record) {
    const size_t label_at = at + label_bytes - 1;
    append_label(file.bytes[label_at], classes,
                 fmt::format("{}: at offset {}", file.name, label_at), to);
    append_planes(file.bytes.subspan(at + label_bytes, CifarImages::kBytes), to);
  }
}

void append_cifar_pickle(const CifarFile& file, int64_t classes, CifarImages& to) {
  const Pickle pickle(file.bytes, file.name);
  const char* key = classes > 10 ? "fine_labels" : "labels";
  const Pickle::Array images = pickle.array("data");
  const std::vector<int64_t> labels = pickle.numbers(key);
  if (images.columns != CifarImages::kBytes || images.rows != static_cast<int64_t>(labels.size())) {
    fail_request("{}: expected images of {} bytes and as many labels, found {}x{} bytes and {}",
                 file.name, CifarImages::kBytes, images.rows, images.columns, labels.size());
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    append_label(labels[i], classes, fmt::format("{}: item {} of {}:", file.name, i, key), to);
    append_planes(images.values.subspan(i * CifarImages::kBytes, CifarImages::kBytes), to);
  }
}

void append_cifar_sheet(const CifarFile& file, int64_t /*classes*/, CifarImages& to) {
  const Picture sheet = decode_picture(file.bytes, file.name);
  constexpr int64_t kWidth = CifarImages::kSide * CifarImages::kSide;
  if (sheet.width != kWidth || sheet.channels != 3) {
    fail_request("{}: expected a sheet {} wide with 3 channels, found {} with {}", file.name,
                 kWidth, sheet.width, sheet.channels);
  }
  to.pixels.insert(to.pixels.end(), sheet.pixels.begin(), sheet.pixels.end());
}

void append_cifar_labels(const CifarFile& file, int64_t classes, CifarImages& to) {
  const auto labels = nlohmann::json::parse(file.bytes.begin(), file.bytes.end(), nullptr, false);
  if (!labels.is_array()) {
    fail_request("{}: expected a JSON list of labels, found something else", file.name);
  }
  for (const auto& label : labels) {
    if (!label.is_number_integer()) {
      fail_request("{}: expected a whole number as label {}, found {}", file.name, to.labels.size(),
                   label.type_name());
    }
    append_label(label.get<int64_t>(), classes,
                 fmt::format("{}: label {}:", file.name, to.labels.size()), to);
  }
}

}  // namespace syrtos::data

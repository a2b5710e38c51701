#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace syrtos::data {

/// Images of 32x32 in colour, channels-last, and labels: what several files are put together to.
struct CifarImages {
  static constexpr int64_t kSide = 32;
  static constexpr int64_t kBytes = kSide * kSide * 3;

  std::vector<uint8_t> pixels = {};
  std::vector<int32_t> labels = {};
};

/// One file of a CIFAR data set.
struct CifarFile {
  std::span<const uint8_t> bytes;
  std::string name;
};

/// Append what a file has to `to`. Labels must be below `classes`: 10, or 100 for the fine labels
/// of CIFAR-100. Throw RequestError.
void append_cifar_binary(const CifarFile& file, int64_t classes, CifarImages& to);
void append_cifar_pickle(const CifarFile& file, int64_t classes, CifarImages& to);
/// One image per row of a PNG; without labels, which are in one JSON list for all sheets.
void append_cifar_sheet(const CifarFile& file, int64_t classes, CifarImages& to);
void append_cifar_labels(const CifarFile& file, int64_t classes, CifarImages& to);

}  // namespace syrtos::data

#include "syrtos/data/formats/numpy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "syrtos/base/cpu.h"
#include "syrtos/base/error.h"
#include "syrtos/data/files/archive.h"
#include "syrtos/data/files/file_bytes.h"
#include "syrtos/data/formats/npy.h"
#include "syrtos/data/formats/number_targets.h"
#include "syrtos/data/sets/table.h"

namespace syrtos::data {

namespace fs = std::filesystem;

namespace {

// An array must fit into memory twice: as it is in the file, and as samples.
void check_memory(const std::string& name, uint64_t bytes) {
  const auto memory = static_cast<uint64_t>(cpu_info().memory_bytes);
  if (bytes <= memory / 2) return;
  fail_request(
      "{}: expected at most {} bytes, half of this machine's memory, found {}; use fewer samples, "
      "or "
      "pack them as pictures",
      name, memory / 2, bytes);
}

/// Names that belong together: training samples and labels, and test samples and labels if any.
using ArrayNames = std::vector<std::string>;
const std::vector<ArrayNames>& known_names() {
  static const std::vector<ArrayNames> table = {
      {"x_train", "y_train", "x_test", "y_test"},
      {"X_train", "y_train", "X_test", "y_test"},
      {"train_x", "train_y", "test_x", "test_y"},
      {"x", "y"},
      {"X", "y"},
  };
  return table;
}

const ArrayNames* names_in(const fs::path& directory) {
  for (const ArrayNames& names : known_names()) {
    if (std::all_of(names.begin(), names.end(),
                    [&](const auto& name) { return is_file(directory / (name + ".npy")); })) {
      return &names;
    }
  }
  return nullptr;
}

const ArrayNames& names_of(const Members& members, const fs::path& path) {
  for (const ArrayNames& names : known_names()) {
    if (std::all_of(names.begin(), names.end(),
                    [&](const auto& name) { return members.contains(name + ".npy"); })) {
      return names;
    }
  }
  std::string found;
  for (const auto& [name, bytes] : members) found += (found.empty() ? "" : ", ") + name;
  fail_request("{}: expected arrays x_train, y_train, x_test and y_test, or x and y, found {}",
               path.string(), found.empty() ? "none of them" : found);
}

bool is_known(std::string_view file) {
  for (const ArrayNames& names : known_names()) {
    for (const std::string& name : names) {
      if (file == name + ".npy") return true;
    }
  }
  return false;
}

/// Where the channels of [n, a, ..., z] are.
struct Channels {
  bool first = false;  ///< at a, not at z
  bool sure = true;    ///< no other reading is likely
};

/// Of [n, a, b, c]: at the end where 4 or fewer stand there and more at the beginning; the two
/// sides of a square are no channels; 4 or fewer at the beginning and more at the end are.
Channels channels_of_pictures(int64_t a, int64_t b, int64_t c) {
  constexpr int64_t kMost = 4;  // red, green, blue, alpha
  if (c <= kMost && a > kMost) return {.first = false};
  if (a == b || b == c) return {.first = b == c && a != b, .sure = false};
  return {.first = a <= kMost && c > kMost, .sure = false};
}

/// Of [n, a, b]: at a where few stand there and many times as many at b.
Channels channels_of_signals(int64_t a, int64_t b) {
  constexpr int64_t kMost = 16;  // of sensors
  constexpr int64_t kTimes = 8;
  const bool first = a <= kMost && b >= kTimes * a;
  return {.first = first, .sure = !first && a >= b};
}

Channels channels_of(const NpyArray& x) {
  const std::vector<int64_t>& s = x.shape;
  if (s.size() == 4) return channels_of_pictures(s[1], s[2], s[3]);
  if (s.size() != 3 || x.is_bytes() || s[1] == s[2]) return {};
  return channels_of_signals(s[1], s[2]);
}

// Height, width and channels of a sample by the rules in the header.
DatasetInfo describe(const NpyArray& x, const std::string& name) {
  DatasetInfo info{.name = name, .dtype = DType::f32, .channels = 1, .height = 1};
  const std::vector<int64_t>& s = x.shape;
  const auto [first, sure] = channels_of(x);
  if (s.size() == 4) {
    if (x.is_bytes()) info.dtype = DType::u8;
    info.height = s[first ? 2 : 1];
    info.width = s[first ? 3 : 2];
    info.channels = s[first ? 1 : 3];
  } else if (s.size() == 3 && x.is_bytes()) {
    info.dtype = DType::u8;
    info.height = s[1];
    info.width = s[2];
  } else if (s.size() == 3 && s[1] == s[2]) {
    info.height = info.width = s[1];
    info.notes.push_back(
        fmt::format("{}: [{}] is read as pictures of {}x{} with one channel; signals with channels "
                    "would be of another shape",
                    x.name, fmt::join(s, ","), info.height, info.width));
  } else if (s.size() == 2 || s.size() == 3) {
    info.width = s[first ? 2 : 1];
    if (s.size() == 3) info.channels = s[first ? 1 : 2];
  } else {
    fail_request(
        "{}: expected samples with 2 to 4 axes, [n, length] to [n, height, width, "
        "channels], found {} axes",
        x.name, s.size());
  }
  if (!sure) {
    info.notes.push_back(fmt::format(
        "{}: [{}] is read as channels {}: {} channel{} of {}; if they are {}, save np.moveaxis(x, "
        "{})",
        x.name, fmt::join(s, ","), first ? "first" : "last", info.channels,
        info.channels == 1 ? "" : "s",
        info.height > 1 ? fmt::format("{}x{}", info.height, info.width)
                        : fmt::format("{} values", info.width),
        first ? "last" : "first", first ? "-1, 1" : "1, -1"));
  }
  return info;
}

/// [n, channels, points] -> [n, points, channels], of values of so many bytes.
void move_channels_last(std::vector<uint8_t>& values, size_t channels, size_t points,
                        size_t value_bytes) {
  const size_t sample = channels * points * value_bytes;
  std::vector<uint8_t> moved(sample);
  for (size_t at = 0; at + sample <= values.size(); at += sample) {
    for (size_t c = 0; c < channels; ++c) {
      for (size_t p = 0; p < points; ++p) {
        std::memcpy(&moved[(p * channels + c) * value_bytes],
                    &values[at + (c * points + p) * value_bytes], value_bytes);
      }
    }
    std::memcpy(&values[at], moved.data(), sample);
  }
}

std::vector<uint8_t> values_of(const NpyArray& x, const DatasetInfo& info) {
  std::vector<uint8_t> bytes;
  if (info.dtype == DType::u8) {
    bytes.assign(x.values.begin(), x.values.end());
  } else {
    check_memory(x.name, static_cast<uint64_t>(x.elements()) * sizeof(float));
    const std::vector<float> floats = x.floats();
    bytes.resize(floats.size() * sizeof(float));
    std::memcpy(bytes.data(), floats.data(), bytes.size());
  }
  if (channels_of(x).first) {
    move_channels_last(bytes, static_cast<size_t>(info.channels),
                       static_cast<size_t>(info.height * info.width), size_of(info.dtype));
  }
  return bytes;
}

Numbers numbers_of(const NpyArray& y, const NpyArray& x, std::span<const float> values) {
  if (y.rows() != x.rows()) {
    fail_request("{}: expected {} labels or targets, one for each sample of {}, found {}", y.name,
                 x.rows(), x.name, y.rows());
  }
  const int64_t each = y.elements() / y.rows();
  return {.values = values,
          .each = each,
          .shape = {y.shape.begin() + 1, y.shape.end()},
          .name = y.name,
          .at = [&y, each](int64_t sample) {
            return fmt::format("{}: at offset {}", y.name,
                               y.offset + static_cast<size_t>(sample * each) * y.item_bytes);
          }};
}

/// All arrays of a data set.
struct Arrays {
  NpyArray x;
  NpyArray y;
  std::optional<NpyArray> test_x = {};
  std::optional<NpyArray> test_y = {};
};

std::unique_ptr<Table> make_table(DatasetInfo info, const NpyArray& x, const NpyArray& y,
                                  const NumberTargets& targets) {
  const std::vector<float> values = y.floats();
  targets.describe(info);
  return std::make_unique<Table>(info, values_of(x, info), targets.read(numbers_of(y, x, values)));
}

NumberTargets meaning_of(const Arrays& arrays, TargetKind kind) {
  const std::vector<float> values = arrays.y.floats();
  return {numbers_of(arrays.y, arrays.x, values), kind};
}

Splits make_splits(const Arrays& arrays, const std::string& name, TargetKind kind) {
  const DatasetInfo info = describe(arrays.x, name);
  const NumberTargets targets = meaning_of(arrays, kind);
  Splits splits{make_table(info, arrays.x, arrays.y, targets)};
  if (!arrays.test_x) return splits;
  const DatasetInfo test_info = describe(*arrays.test_x, name);
  if (test_info.dtype != info.dtype || !(test_info.shape() == info.shape())) {
    fail_request("{}: expected samples as in {}, {} of {}, found {} of {}", arrays.test_x->name,
                 arrays.x.name, to_string(info.dtype), to_string(info.shape()),
                 to_string(test_info.dtype), to_string(test_info.shape()));
  }
  splits.test = make_table(info, *arrays.test_x, *arrays.test_y, targets);
  return splits;
}

/// The member that holds samples.
const std::string& samples_in(const Members& members, const fs::path& file) {
  for (const char* name : {"x", "x_test", "X", "X_test", "test_x"}) {
    const auto found = members.find(std::string(name) + ".npy");
    if (found != members.end()) return found->first;
  }
  if (members.size() == 1) return members.begin()->first;
  fail_request("{}: expected an array x or x_test, or a single one, found {}", file.string(),
               members.empty() ? "none" : fmt::format("{} others", members.size()));
}

}  // namespace

std::unique_ptr<Dataset> open_numpy_samples(const fs::path& file) {
  Members members;
  std::string name = file.filename().string();
  if (file.extension() == ".npz") {
    const auto any = [](std::string_view) { return true; };
    members = read_members(file, any, static_cast<size_t>(cpu_info().memory_bytes / 2));
    name = samples_in(members, file);
  } else {
    check_memory(file.string(), fs::file_size(file));
    members[name] = read_bytes(file);
  }
  const NpyArray x = parse_npy(members.at(name), file.string());
  DatasetInfo info = describe(x, file.string());
  std::vector<uint8_t> values = values_of(x, info);
  return std::make_unique<Table>(std::move(info), std::move(values),
                                 std::vector<int32_t>(static_cast<size_t>(x.rows())));
}

bool has_numpy(const fs::path& path) {
  if (is_file(path)) return path.extension() == ".npz";
  return names_in(path) != nullptr;
}

Splits open_numpy(const fs::path& path, TargetKind kind) {
  Members members;
  if (is_file(path)) {
    members = read_members(path, is_known, static_cast<size_t>(cpu_info().memory_bytes / 2));
  } else if (const ArrayNames* names = names_in(path)) {
    uint64_t bytes = 0;
    for (const std::string& name : *names) bytes += fs::file_size(path / (name + ".npy"));
    check_memory(path.string(), bytes);
    for (const std::string& name : *names)
      members[name + ".npy"] = read_bytes(path / (name + ".npy"));
  }
  const ArrayNames& names = names_of(members, path);
  const auto array = [&](size_t i) {
    const std::string file = names[i] + ".npy";
    return parse_npy(members.at(file), (path / file).string());
  };
  Arrays arrays{.x = array(0), .y = array(1)};
  if (names.size() == 4) {
    arrays.test_x = array(2);
    arrays.test_y = array(3);
  }
  return make_splits(arrays, path.string(), kind);
}

}  // namespace syrtos::data

#include "syrtos/data/samples.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/data/files/file_bytes.h"
#include "syrtos/data/formats/csv_rows.h"
#include "syrtos/data/formats/numpy.h"
#include "syrtos/data/formats/picture_table.h"
#include "syrtos/data/formats/text_targets.h"
#include "syrtos/data/pack/pack_files.h"
#include "syrtos/data/pictures/picture.h"
#include "syrtos/data/sets/as_trained.h"
#include "syrtos/data/sets/picture_files.h"
#include "syrtos/data/sets/table.h"

namespace syrtos::data {

namespace fs = std::filesystem;

namespace {

/// Brought to the network's size; the first of what is named is what is asked for.
NamedSamples fitted(std::unique_ptr<Dataset> data, std::vector<std::string> names,
                    const SampleWish& wish) {
  data = as_trained(std::move(data), {.image = wish.image, .columns = wish.columns, .classes = {}});
  const DatasetInfo& info = data->info();
  const bool same = info.shape() == wish.image;
  if (info.channels != wish.image[0] || (!same && info.dtype != DType::u8)) {
    fail_request(
        "{}: expected samples of {}, as the network takes, found {}", info.name,
        to_string(wish.image),
        info.same_size() ? to_string(info.shape()) : fmt::format("{} channels", info.channels));
  }
  if (!same) {
    data = std::make_unique<Resized>(std::move(data), wish.image[1], wish.image[2], wish.fit);
  }
  return {std::move(data), std::move(names)};
}

/// Of rows "0", "1", ... behind the name of what they are in.
std::vector<std::string> numbered(const fs::path& path, int64_t size) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < size; ++i) names.push_back(fmt::format("{}:{}", path.string(), i));
  return names;
}

NamedSamples open_pictures(const std::vector<fs::path>& files, const fs::path& path,
                           const SampleWish& wish) {
  require_kind({.name = path.string(), .channels = wish.image[0]},
               {.image = wish.image, .columns = wish.columns, .classes = {}});
  if (wish.image[0] != 1 && wish.image[0] != 3) {
    fail_request("{}: the network takes {} channels, pictures have 1 or 3", path.string(),
                 wish.image[0]);
  }
  std::vector<std::string> names;
  for (const fs::path& file : files) names.push_back(file.string());
  auto pictures = std::make_unique<PictureFiles>(DatasetInfo{.name = path.string()}, files,
                                                 std::vector<int32_t>(files.size()));
  PictureFiles::Look sizes;
  pictures->look(sizes);  // refuses what is no picture
  pictures->settle({.grey = wish.image[0] == 1, .same_size = false, .first = {}});
  return fitted(std::move(pictures), std::move(names), wish);
}

/// All pictures in a folder and below, in the order of names.
std::vector<fs::path> pictures_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(folder, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    const bool hidden = entry->path().filename().string().starts_with('.');
    if (!hidden && has_picture_name(entry->path()) && entry->is_regular_file(ignored)) {
      files.push_back(entry->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Columns that are labels: those that were asked for in training, or that are called so; none
/// where all columns are what the network takes.
std::vector<size_t> labels_in(const CsvColumns& columns, const std::string& name,
                              const SampleWish& wish) {
  const auto wanted = static_cast<size_t>(wish.image.elements());
  if (columns.count() == wanted) return {};
  if (!wish.label_column.empty()) {
    std::vector<size_t> asked = asked_columns(columns, name, wish.label_column);
    if (columns.count() == wanted + asked.size()) return asked;
  }
  if (const std::optional<size_t> named = named_label(columns)) {
    if (columns.count() == wanted + 1) return {*named};
  }
  const auto listed = [](const std::vector<std::string>& names) {
    return names.empty() ? "" : fmt::format(" ({})", fmt::join(names, ", "));
  };
  fail_request("{}: expected {} numbers on each line{}, as the network takes, found {} columns{}",
               name, wanted, listed(wish.columns), columns.count(),
               listed(columns.has_names ? columns.names : std::vector<std::string>()));
}

NamedSamples open_rows(const fs::path& path, const SampleWish& wish) {
  const std::vector<uint8_t> bytes = read_bytes(path);
  const CsvRows rows =
      parse_texts({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
  const std::vector<size_t> labels = labels_in(rows.columns, rows.name, wish);
  const size_t columns = rows.columns.count();
  std::vector<size_t> taken;  // columns, in the order of training
  std::vector<std::string> names;
  for (size_t c = 0; c < columns; ++c) {
    if (std::find(labels.begin(), labels.end(), c) != labels.end()) continue;
    taken.push_back(c);
    names.push_back(rows.columns.names[c]);
  }
  if (rows.columns.has_names && !wish.columns.empty()) {
    const std::vector<size_t> found = taken;
    const std::vector<size_t> places = places_of_columns(wish.columns, names, rows.name);
    for (size_t i = 0; i < places.size(); ++i) taken[i] = found[places[i]];
    names = wish.columns;
  }
  std::vector<std::string> texts;
  for (size_t row = 0; row < rows.labels.size(); row += columns) {
    for (const size_t c : taken) texts.push_back(rows.labels[row + c]);
  }
  const std::vector<float> values = parse_numbers({texts, names, rows.lines, rows.name});
  std::vector<uint8_t> stored(values.size() * sizeof(float));
  std::copy_n(reinterpret_cast<const uint8_t*>(values.data()), stored.size(), stored.data());
  DatasetInfo info{.name = path.string(),
                   .dtype = DType::f32,
                   .channels = wish.image[0],
                   .height = wish.image[1],
                   .width = wish.image[2]};
  auto table = std::make_unique<Table>(std::move(info), std::move(stored),
                                       std::vector<int32_t>(rows.lines.size()));
  std::vector<std::string> called;
  for (const int64_t line : rows.lines) called.push_back(fmt::format("{}:{}", path.string(), line));
  return fitted(std::move(table), std::move(called), wish);
}

}  // namespace

NamedSamples open_samples(const fs::path& path, const SampleWish& wish) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    fail_request(
        "{}: expected a picture, a folder, .npy, .npz, .csv, .tsv or a pack, found nothing "
        "of that name",
        path.string());
  }
  if (fs::is_directory(path, ignored)) {
    const std::vector<fs::path> files = pictures_below(path);
    if (!files.empty()) return open_pictures(files, path, wish);
    fail_request(
        "{}: expected pictures ({}) in it or below, found none; name a file of arrays or "
        "numbers itself",
        path.string(), picture_names());
  }
  const std::string extension = path.extension().string();
  if (is_pack(path)) {
    std::unique_ptr<Dataset> pack = open_pack(path);
    std::vector<std::string> names = numbered(path, pack->size());
    return fitted(std::move(pack), std::move(names), wish);
  }
  if (extension == ".npz" || extension == ".npy") {
    std::unique_ptr<Dataset> arrays = open_numpy_samples(path);
    std::vector<std::string> names = numbered(path, arrays->size());
    return fitted(std::move(arrays), std::move(names), wish);
  }
  if (extension == ".csv" || extension == ".tsv") {
    if (has_picture_table(path)) return open_pictures(pictures_of_table(path), path, wish);
    return open_rows(path, wish);
  }
  return open_pictures({path}, path, wish);
}

}  // namespace syrtos::data

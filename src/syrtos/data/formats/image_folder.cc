#include "syrtos/data/formats/image_folder.h"

#include <algorithm>
#include <optional>

#include "syrtos/base/error.h"
#include "syrtos/data/files/file_bytes.h"
#include "syrtos/data/pictures/picture.h"
#include "syrtos/data/sets/split.h"

namespace syrtos::data {

namespace fs = std::filesystem;

namespace {

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

fs::directory_iterator list(const fs::path& directory) {
  std::error_code error;
  fs::directory_iterator entries(directory, error);
  if (error) fail_request("cannot list {}: {}", directory.string(), error.message());
  return entries;
}

bool is_picture(const fs::directory_entry& entry) {
  std::error_code ignored;
  return !is_hidden(entry.path()) && has_picture_name(entry.path()) &&
         entry.is_regular_file(ignored);
}

std::vector<std::string> folders(const fs::path& directory) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : list(directory)) {
    if (is_folder(entry) && !is_hidden(entry)) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> pictures(const fs::path& directory) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : list(directory)) {
    if (is_picture(entry)) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class ImageFolder : public Dataset {
 public:
  explicit ImageFolder(const fs::path& directory) : directory_(directory) {
    info_ = {.name = directory.string(), .channels = 3, .classes = folders(directory)};
    if (info_.classes.size() < 2) {
      fail_request("{}: expected at least two folders with pictures, one per class, found {}",
                   info_.name,
                   info_.classes.empty() ? "none" : "one only, '" + info_.classes[0] + "'");
    }
    for (size_t k = 0; k < info_.classes.size(); ++k) {
      const std::vector<std::string> names = pictures(directory / info_.classes[k]);
      if (names.empty()) {
        fail_request(
            "{}: expected pictures (.jpg, .jpeg, .png, .pgm, .ppm, .pnm) of this class, "
            "found none; remove the folder or put some in",
            (directory / info_.classes[k]).string());
      }
      files_.insert(files_.end(), names.begin(), names.end());
      labels_.insert(labels_.end(), names.size(), static_cast<int32_t>(k));
    }
    info_.size = static_cast<int64_t>(files_.size());
  }

  int32_t label(int64_t index) const override { return labels_[static_cast<size_t>(index)]; }

  Sample read(int64_t index, Scratch& scratch) const override {
    const fs::path file = path_of(index);
    Sample sample{.channels = 3, .label = label(index)};
    try {
      read_bytes(file, scratch.file);
      decode_into(scratch.file, file.string(), 3, scratch.values, sample.height, sample.width);
    } catch (const RequestError& error) {
      throw RunError(error.what());  // it was fine when the run began, or nobody had looked
    }
    sample.values = scratch.values.data();
    return sample;
  }

  std::span<const uint8_t> encoded(int64_t index, Scratch& scratch) const override {
    read_bytes(path_of(index), scratch.file);
    return scratch.file;
  }

 private:
  fs::path path_of(int64_t index) const {
    return directory_ / info_.classes[static_cast<size_t>(label(index))] /
           files_[static_cast<size_t>(index)];
  }

  fs::path directory_;
  std::vector<std::string> files_;
  std::vector<int32_t> labels_;
};

// The folder with test pictures, when there is one beside train/.
std::optional<fs::path> find_test(const fs::path& directory) {
  if (!is_folder(directory / "train")) return std::nullopt;
  for (const char* name : {"test", "val", "validation"}) {
    if (is_folder(directory / name)) return directory / name;
  }
  return std::nullopt;
}

// Whether there are folders with pictures in it.
bool has_classes(const fs::path& directory) {
  for (const std::string& folder : folders(directory)) {
    const fs::directory_iterator entries = list(directory / folder);
    if (std::any_of(begin(entries), end(entries), is_picture)) return true;
  }
  return false;
}

// A class may be called "train", too, but has no classes in it.
bool has_only_train(const fs::path& directory) {
  return is_folder(directory / "train") && !find_test(directory) &&
         has_classes(directory / "train");
}

void check_same_classes(const DatasetInfo& train, const DatasetInfo& test) {
  const auto [a, b] = std::mismatch(train.classes.begin(), train.classes.end(),
                                    test.classes.begin(), test.classes.end());
  if (a == train.classes.end() && b == test.classes.end()) return;
  const bool only_train = b == test.classes.end() || (a != train.classes.end() && *a < *b);
  fail_request("expected the same classes in {} and {}, found '{}' in {} alone", train.name,
               test.name, only_train ? *a : *b, only_train ? train.name : test.name);
}

}  // namespace

bool has_image_folder(const fs::path& directory) {
  if (!is_folder(directory)) return false;
  return find_test(directory) || has_classes(directory) || has_only_train(directory);
}

Splits open_image_folder(const fs::path& directory) {
  if (has_only_train(directory)) {
    fail_request(
        "{}: expected test/, val/ or validation/ beside train/, found none; put one there, or use "
        "{}, of which every tenth picture is kept for tests",
        directory.string(), (directory / "train").string());
  }
  const std::optional<fs::path> test_directory = find_test(directory);
  if (!test_directory) return split_every_tenth(std::make_shared<ImageFolder>(directory));
  auto train = std::make_unique<ImageFolder>(directory / "train");
  auto test = std::make_unique<ImageFolder>(*test_directory);
  check_same_classes(train->info(), test->info());
  return {std::move(train), std::move(test)};
}

}  // namespace syrtos::data

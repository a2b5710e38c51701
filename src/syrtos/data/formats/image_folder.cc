#include "syrtos/data/formats/image_folder.h"

#include <algorithm>
#include <map>
#include <optional>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/data/pictures/picture.h"
#include "syrtos/data/sets/picture_files.h"

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

/// What lies beside pictures and is not read: ".txt" -> 3, "folder" -> 1.
using LeftOut = std::map<std::string, int64_t>;
constexpr const char* kFolder = "folder";
constexpr const char* kBroken = "broken link";

std::string kind_of(const fs::directory_entry& entry) {
  if (is_folder(entry)) return kFolder;
  std::error_code ignored;
  if (entry.is_symlink(ignored) && !entry.exists(ignored)) return kBroken;
  const std::string extension = entry.path().extension().string();
  return extension.empty() ? "without an ending" : extension;
}

/// "3 .txt, 1 .gif", the most first.
std::string to_string(const LeftOut& left_out) {
  std::vector<std::pair<std::string, int64_t>> kinds(left_out.begin(), left_out.end());
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [kind, count] : kinds) {
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", format_count(count), kind,
                        (kind == kFolder || kind == kBroken) && count > 1 ? "s" : "");
  }
  return text;
}

std::vector<std::string> pictures(const fs::path& directory, LeftOut& left_out) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : list(directory)) {
    if (is_picture(entry)) {
      names.push_back(entry.path().filename().string());
    } else if (!is_hidden(entry)) {
      ++left_out[kind_of(entry)];
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// The pictures of all class folders, in the order of names.
std::unique_ptr<PictureFiles> read_classes(const fs::path& directory) {
  DatasetInfo info{.name = directory.string(), .classes = folders(directory)};
  if (info.classes.size() < 2) {
    fail_request("{}: expected at least two folders with pictures, one per class, found {}",
                 info.name, info.classes.empty() ? "none" : "one only, '" + info.classes[0] + "'");
  }
  LeftOut left_out;
  for (const fs::directory_entry& entry : list(directory)) {
    if (is_picture(entry)) ++left_out[kind_of(entry) + " beside the classes"];
  }
  std::vector<fs::path> files;
  std::vector<int32_t> labels;
  for (size_t k = 0; k < info.classes.size(); ++k) {
    const fs::path folder = directory / info.classes[k];
    LeftOut others;
    const std::vector<std::string> names = pictures(folder, others);
    if (names.empty()) {
      fail_request(
          "{}: expected pictures ({}) of this class, found {}; remove the folder or put some in",
          folder.string(), picture_names(), others.empty() ? "none" : "only " + to_string(others));
    }
    for (const auto& [kind, count] : others) left_out[kind] += count;
    for (const std::string& name : names) files.push_back(folder / name);
    labels.insert(labels.end(), names.size(), static_cast<int32_t>(k));
  }
  if (!left_out.empty()) {
    info.notes.push_back(fmt::format("{}: left out, because only {} are read: {}", info.name,
                                     picture_names(), to_string(left_out)));
  }
  return std::make_unique<PictureFiles>(std::move(info), std::move(files), std::move(labels));
}

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
  if (!test_directory) return settled(read_classes(directory), nullptr);
  std::unique_ptr<PictureFiles> train = read_classes(directory / "train");
  std::unique_ptr<PictureFiles> test = read_classes(*test_directory);
  check_same_classes(train->info(), test->info());
  return settled(std::move(train), std::move(test));
}

}  // namespace syrtos::data

#include "syrtos/data/formats/image_folder.h"

#include <algorithm>
#include <map>
#include <optional>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/data/files/file_bytes.h"
#include "syrtos/data/pictures/picture.h"
#include "syrtos/data/sets/resized.h"
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

/// What lies beside pictures and is not read: ".txt" -> 3, "folder" -> 1.
using LeftOut = std::map<std::string, int64_t>;
constexpr const char* kFolder = "folder";

std::string kind_of(const fs::directory_entry& entry) {
  if (is_folder(entry)) return kFolder;
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
                        kind == kFolder && count > 1 ? "s" : "");
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

class ImageFolder : public Dataset {
 public:
  explicit ImageFolder(const fs::path& directory) : directory_(directory) {
    info_ = {
        .name = directory.string(), .channels = 3, .classes = folders(directory), .decodes = true};
    if (info_.classes.size() < 2) {
      fail_request("{}: expected at least two folders with pictures, one per class, found {}",
                   info_.name,
                   info_.classes.empty() ? "none" : "one only, '" + info_.classes[0] + "'");
    }
    LeftOut left_out;
    for (const fs::directory_entry& entry : list(directory)) {
      if (is_picture(entry)) ++left_out[kind_of(entry) + " beside the classes"];
    }
    for (size_t k = 0; k < info_.classes.size(); ++k) {
      LeftOut others;
      const std::vector<std::string> names = pictures(directory / info_.classes[k], others);
      if (names.empty()) {
        fail_request(
            "{}: expected pictures ({}) of this class, found {}; remove the folder or put some in",
            (directory / info_.classes[k]).string(), picture_names(),
            others.empty() ? "none" : "only " + to_string(others));
      }
      for (const auto& [kind, count] : others) left_out[kind] += count;
      files_.insert(files_.end(), names.begin(), names.end());
      labels_.insert(labels_.end(), names.size(), static_cast<int32_t>(k));
    }
    info_.size = static_cast<int64_t>(files_.size());
    if (!left_out.empty()) {
      info_.notes.push_back(fmt::format("{}: left out, because only {} are read: {}", info_.name,
                                        picture_names(), to_string(left_out)));
    }
  }

  /// What is known of some pictures, all of them if they are few.
  struct Look {
    bool grey = true;
    bool same_size = true;
    Picture first = {};
  };
  void look(Look& all) const {
    constexpr int64_t kLooked = 4096;
    std::vector<uint8_t> bytes;
    for (int64_t i = 0; i < std::min(kLooked, size()); ++i) {
      const fs::path file = path_of(size() <= kLooked ? i : i * size() / kLooked);
      read_bytes(file, bytes);
      const Picture picture = look_at_picture(bytes, file.string());
      if (all.first.height == 0) all.first = picture;
      all.grey = all.grey && picture.channels == 1;
      all.same_size =
          all.same_size && picture.height == all.first.height && picture.width == all.first.width;
    }
  }
  void settle(const Look& all) {
    info_.channels = all.grey ? 1 : 3;
    info_.height = all.same_size ? all.first.height : 0;
    info_.width = all.same_size ? all.first.width : 0;
  }

  int32_t label(int64_t index) const override { return labels_[static_cast<size_t>(index)]; }

  Sample read(int64_t index, Scratch& scratch) const override {
    const fs::path file = path_of(index);
    Sample sample{.channels = info_.channels, .label = label(index)};
    try {
      read_bytes(file, scratch.file);
      decode_into(scratch.file, file.string(), static_cast<int>(info_.channels), scratch.values,
                  sample.height, sample.width);
    } catch (const RequestError& error) {
      throw RunError(error.what());  // it was fine when the run began, or nobody had looked
    }
    if (info_.same_size()) bring_to_size(sample, scratch);
    sample.values = scratch.values.data();
    return sample;
  }

  std::span<const uint8_t> encoded(int64_t index, Scratch& scratch) const override {
    const fs::path file = path_of(index);
    read_bytes(file, scratch.file);
    const Picture found =
        info_.same_size() ? look_at_picture(scratch.file, file.string()) : Picture();
    if (info_.same_size() && (found.height != info_.height || found.width != info_.width)) {
      fail_run(
          "{}: expected {}x{} pixels (height x width), as others have, found {}x{}; give --size",
          file.string(), info_.height, info_.width, found.height, found.width);
    }
    return scratch.file;
  }

 private:
  /// One that nobody had looked at is scaled to the size of the others.
  void bring_to_size(Sample& sample, Scratch& scratch) const {
    if (sample.height == info_.height && sample.width == info_.width) return;
    scratch.scaled.resize(static_cast<size_t>(info_.shape().elements()));
    resize(scratch.values.data(), sample.height, sample.width, sample.channels,
           fit_window(Fit::centre, sample.height, sample.width, info_.height, info_.width),
           scratch.scaled.data(), info_.height, info_.width, scratch.resize);
    scratch.values.swap(scratch.scaled);
    sample.height = info_.height;
    sample.width = info_.width;
  }

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
  ImageFolder::Look all;
  if (!test_directory) {
    const auto whole = std::make_shared<ImageFolder>(directory);
    whole->look(all);
    whole->settle(all);
    return split_every_tenth(whole);
  }
  auto train = std::make_unique<ImageFolder>(directory / "train");
  auto test = std::make_unique<ImageFolder>(*test_directory);
  check_same_classes(train->info(), test->info());
  for (const ImageFolder* folder : {train.get(), test.get()}) folder->look(all);
  for (ImageFolder* folder : {train.get(), test.get()}) folder->settle(all);
  return {std::move(train), std::move(test)};
}

}  // namespace syrtos::data

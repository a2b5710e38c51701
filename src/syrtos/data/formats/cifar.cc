#include "syrtos/data/formats/cifar.h"

#include <algorithm>
#include <optional>

#include "syrtos/base/error.h"
#include "syrtos/data/files/archive.h"
#include "syrtos/data/files/file_bytes.h"
#include "syrtos/data/formats/cifar_batches.h"
#include "syrtos/data/formats/pickle.h"
#include "syrtos/data/sets/split.h"
#include "syrtos/data/sets/table.h"

namespace syrtos::data {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMostBytes = size_t{1} << 28;  // CIFAR-100's train.bin has 154 MB

using FileNames = std::vector<std::string>;

FileNames lines(const CifarFile& file) {
  FileNames names;
  std::string name;
  for (const uint8_t c : file.bytes) {
    if (c != '\n' && c != '\r') {
      name += static_cast<char>(c);
    } else if (!name.empty()) {
      names.push_back(std::move(name));
      name.clear();
    }
  }
  if (!name.empty()) names.push_back(std::move(name));
  return names;
}

FileNames pickled_names(const CifarFile& file) {
  const Pickle pickle(file.bytes, file.name);
  return pickle.texts(pickle.has("fine_label_names") ? "fine_label_names" : "label_names");
}

/// A form that the data sets come in.
struct Form {
  const char* name;
  int64_t classes;
  FileNames train;  ///< files in order
  FileNames test;
  void (*append)(const CifarFile&, int64_t, CifarImages&);
  const char* class_names = "";  ///< a file that may be there
  FileNames (*read_names)(const CifarFile&) = nullptr;
  const char* train_labels = "";  ///< files of their own
  const char* test_labels = "";
};

FileNames batches(const char* suffix) {
  FileNames names;
  for (int i = 1; i <= 5; ++i) names.push_back(fmt::format("data_batch_{}{}", i, suffix));
  return names;
}

const std::vector<Form>& forms() {
  static const std::vector<Form> table = {
      {"cifar10",
       10,
       batches(".bin"),
       {"test_batch.bin"},
       append_cifar_binary,
       "batches.meta.txt",
       lines},
      {"cifar10",
       10,
       batches(""),
       {"test_batch"},
       append_cifar_pickle,
       "batches.meta",
       pickled_names},
      {"cifar10",
       10,
       batches(".png"),
       {"test_batch.png"},
       append_cifar_sheet,
       "",
       nullptr,
       "train_lables.json",
       "test_lables.json"},
      {"cifar100",
       100,
       {"train.bin"},
       {"test.bin"},
       append_cifar_binary,
       "fine_label_names.txt",
       lines},
      {"cifar100", 100, {"train"}, {"test"}, append_cifar_pickle, "meta", pickled_names},
  };
  return table;
}

// All files that a form may have.
FileNames parts(const Form& form) {
  FileNames names = form.train;
  names.insert(names.end(), form.test.begin(), form.test.end());
  for (const char* name : {form.class_names, form.train_labels, form.test_labels}) {
    if (*name != '\0') names.emplace_back(name);
  }
  return names;
}

// The directory or archive that has the files: the path itself or what the originals unpack to.
struct CifarPlace {
  fs::path path;
  const Form* form = nullptr;  ///< nothing: an archive that was not looked into
};

std::optional<CifarPlace> find_place(const fs::path& path) {
  if (is_file(path)) {
    if (has_archive_name(path)) return CifarPlace{path};
    return std::nullopt;
  }
  for (const char* folder : {"", "cifar-10-batches-bin", "cifar-10-batches-py", "cifar-100-binary",
                             "cifar-100-python", "package"}) {
    for (const Form& form : forms()) {
      if (is_file(path / folder / form.train[0]) && is_file(path / folder / form.test[0])) {
        return CifarPlace{path / folder, &form};
      }
    }
  }
  for (const char* archive : {"cifar-10-binary.tar.gz", "cifar-10-python.tar.gz",
                              "cifar-100-binary.tar.gz", "cifar-100-python.tar.gz"}) {
    if (is_file(path / archive)) return CifarPlace{path / archive};
  }
  return std::nullopt;
}

/// The files of a form, read.
class Files {
 public:
  explicit Files(const CifarPlace& place) : path_(place.path), form_(place.form) {
    if (form_ == nullptr) {
      members_ = read_members(path_, is_part_of_any, kMostBytes);
      for (const Form& form : forms()) {
        if (members_.contains(form.train[0])) form_ = &form;
      }
      if (form_ == nullptr) {
        fail_request("{}: expected an archive of CIFAR-10 or CIFAR-100, found no {} or train file",
                     path_.string(), forms()[1].train[0]);
      }
      return;
    }
    for (const std::string& name : parts(*form_)) {
      if (is_file(path_ / name)) members_[name] = read_bytes(path_ / name);
    }
  }

  static bool is_part_of_any(std::string_view name) {
    return std::any_of(forms().begin(), forms().end(), [&](const Form& form) {
      const FileNames names = parts(form);
      return std::find(names.begin(), names.end(), name) != names.end();
    });
  }

  const Form& form() const { return *form_; }
  bool has(const std::string& name) const { return members_.contains(name); }
  CifarFile get(const std::string& name) const {
    const auto found = members_.find(name);
    if (found == members_.end()) {
      fail_request("{}: expected {} with the other files of {}, found no such file", path_.string(),
                   name, form_->name);
    }
    return {found->second, (path_ / name).string()};
  }

 private:
  fs::path path_;
  const Form* form_;
  Members members_;
};

CifarImages read_half(const Files& files, const FileNames& names, const std::string& labels) {
  const Form& form = files.form();
  CifarImages images;
  for (const std::string& name : names) form.append(files.get(name), form.classes, images);
  if (!labels.empty()) append_cifar_labels(files.get(labels), form.classes, images);
  const size_t count = images.pixels.size() / CifarImages::kBytes;
  if (images.labels.size() != count) {
    fail_request("{}: expected a label for each of {} images, found {}", files.get(labels).name,
                 count, images.labels.size());
  }
  return images;
}

FileNames class_names(const Files& files) {
  const Form& form = files.form();
  if (form.read_names != nullptr && files.has(form.class_names)) {
    const CifarFile file = files.get(form.class_names);
    FileNames names = form.read_names(file);
    if (static_cast<int64_t>(names.size()) != form.classes) {
      fail_request("{}: expected {} names, found {}", file.name, form.classes, names.size());
    }
    return names;
  }
  if (form.classes > 10) return numbered_classes(form.classes);
  return {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
}

std::unique_ptr<Dataset> make_table(CifarImages images, const Files& files) {
  return std::make_unique<Table>(DatasetInfo{.name = files.form().name,
                                             .channels = 3,
                                             .height = CifarImages::kSide,
                                             .width = CifarImages::kSide,
                                             .classes = class_names(files)},
                                 std::move(images.pixels), std::move(images.labels));
}

}  // namespace

bool has_cifar(const fs::path& path) {
  const std::optional<CifarPlace> place = find_place(path);
  if (!place) return false;
  return place->form != nullptr || has_member(place->path, Files::is_part_of_any);
}

Splits open_cifar(const fs::path& path) {
  const std::optional<CifarPlace> place = find_place(path);
  if (!place) {
    fail_request(
        "no CIFAR in {}: expected its files (data_batch_1.bin, data_batch_1, ...) or an "
        "archive of them",
        path.string());
  }
  const Files files(*place);
  const Form& form = files.form();
  CifarImages train = read_half(files, form.train, form.train_labels);
  CifarImages test = read_half(files, form.test, form.test_labels);
  return {make_table(std::move(train), files), make_table(std::move(test), files)};
}

}  // namespace syrtos::data

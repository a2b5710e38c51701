#include "syrtos/data/open.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/base/log.h"
#include "syrtos/data/fetch/catalogue.h"
#include "syrtos/data/formats/cifar.h"
#include "syrtos/data/formats/csv.h"
#include "syrtos/data/formats/image_folder.h"
#include "syrtos/data/formats/mnist.h"
#include "syrtos/data/formats/numpy.h"
#include "syrtos/data/formats/picture_table.h"
#include "syrtos/data/formats/plain_text.h"
#include "syrtos/data/pack/pack_files.h"
#include "syrtos/data/pictures/picture.h"
#include "syrtos/data/sets/split.h"

namespace syrtos::data {

namespace fs = std::filesystem;

namespace {

struct Format {
  const char* looked_for;
  bool (*has)(const fs::path&);
  Splits (*open)(const fs::path&, const OpenOptions&);
};

Splits open_stored(const fs::path& directory, const OpenOptions&) {
  return open_packs(directory, decode_into);
}

Splits open_text(const fs::path& path, const OpenOptions& options) {
  return open_csv(path, options.label_column, options.targets);
}

Splits open_arrays(const fs::path& path, const OpenOptions& options) {
  return open_numpy(path, options.targets);
}

Splits open_table(const fs::path& path, const OpenOptions& options) {
  return open_picture_table(path, options.label_column, options.targets);
}

template <Splits (*kOpen)(const fs::path&)>
Splits open_plainly(const fs::path& path, const OpenOptions&) {
  return kOpen(path);
}

// The order counts: image folders, which need the least to be taken for one, come last.
constexpr std::array kFormats = {
    Format{"packs (train.pack, test.pack)", has_packs, open_stored},
    Format{"MNIST's four IDX files", has_mnist, open_plainly<open_mnist>},
    Format{"CIFAR's files or their archive", has_cifar, open_plainly<open_cifar>},
    Format{"NumPy arrays (.npz; x_train.npy, ...)", has_numpy, open_arrays},
    Format{"pictures with a table of their labels (.csv, .tsv)", has_picture_table, open_table},
    Format{"signals as text (.csv, .tsv; train.csv and test.csv)", has_csv, open_text},
    Format{"text (.txt)", has_plain_text, open_plainly<open_plain_text>},
    Format{"a folder of pictures per class", has_image_folder, open_plainly<open_image_folder>},
};

/// What somebody who named the folder of one class, or the one around the data, is told.
std::string directory_meant(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return {};
  std::vector<fs::path> inside;
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    if (entry.is_directory(ignored)) inside.push_back(entry.path());
    if (!entry.is_directory(ignored) && has_picture_name(entry.path())) {
      return fmt::format(
          "pictures without classes; each class has a folder of its own: if this is one, name the "
          "folder above, {}",
          path.parent_path().string());
    }
  }
  std::sort(inside.begin(), inside.end());
  for (const fs::path& folder : inside) {
    for (const Format& format : kFormats) {
      if (format.has(folder)) return fmt::format("a folder around it: use {}", folder.string());
    }
  }
  return {};
}

const Format& format_of(const fs::path& path) {
  for (const Format& format : kFormats) {
    if (format.has(path)) return format;
  }
  if (is_pack(path)) {
    fail_request(
        "{}: expected a directory with train.pack and test.pack, found a single pack; name the "
        "directory that has both",
        path.string());
  }
  if (const std::string other = directory_meant(path); !other.empty()) {
    fail_request("{}: expected data, found {}", path.string(), other);
  }
  std::string list;
  for (const Format& format : kFormats) list += fmt::format("\n  {}", format.looked_for);
  fail_request("{}: found no data in a format that is known; looked for:{}", path.string(), list);
}

bool is_plain_name(const fs::path& path) {
  return !path.empty() && path == path.filename() && path != "." && path != "..";
}

std::vector<std::string> known_sets() {
  std::vector<std::string> names;
  for (const KnownSet& known : catalogue()) names.push_back(known.name);
  names.emplace_back("random");
  return names;
}

/// What somebody who wrote `path` may have meant: known sets, those that were packed, and what lies
/// where it should be.
std::vector<std::string> names_near(const std::string& path, const fs::path& cache_home) {
  std::vector<std::string> names = known_sets();
  const auto add = [&](const fs::path& directory, const fs::path& prefix) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(directory, ignored)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with('.')) names.push_back((prefix / name).string());
    }
  };
  if (!cache_home.empty()) add(data_directory(cache_home), "");
  const fs::path parent = fs::path(path).parent_path();
  add(parent.empty() ? "." : parent, parent);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

fs::path path_of(const std::string& name_or_path, const fs::path& cache_home) {
  std::error_code ignored;
  const bool known = find_known(name_or_path) != nullptr;
  const bool local = fs::exists(name_or_path, ignored);
  const bool plain = is_plain_name(name_or_path);
  fs::path fetched = data_directory(cache_home) / name_or_path;
  // What lies here by chance does not hide a data set of the catalogue.
  if (plain && !cache_home.empty() && (known || !local) && fs::is_directory(fetched, ignored)) {
    return fetched;
  }
  if (local) return name_or_path;
  if (plain && cache_home.empty()) {
    fail_request(
        "--data: expected a cache directory with '{}', found none; set HOME or XDG_CACHE_HOME, or "
        "use --data PATH",
        name_or_path);
  }
  if (known) {
    fail_request("--data: {} is not here yet: expected it in {}; run: syrtos data get {}",
                 name_or_path, fetched.string(), name_or_path);
  }
  fail_request("--data: expected a data set or a path, found '{}', which is neither; {}known: {}",
               name_or_path, did_you_mean(name_or_path, names_near(name_or_path, cache_home)),
               fmt::join(known_sets(), ", "));
}

}  // namespace

fs::path data_directory(const fs::path& cache_home) { return cache_home / "syrtos" / "data"; }

std::string lasting_name(const std::string& name_or_path, const fs::path& cache_home) {
  if (path_of(name_or_path, cache_home) != fs::path(name_or_path)) return name_or_path;
  const fs::path path = fs::absolute(name_or_path).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).string();
}

Found find(const std::string& name_or_path, const fs::path& cache_home) {
  const fs::path path = path_of(name_or_path, cache_home);
  return {path, format_of(path).looked_for};
}

Splits open(const std::string& name_or_path, const fs::path& cache_home,
            const OpenOptions& options) {
  const fs::path path = path_of(name_or_path, cache_home);
  const Format& format = format_of(path);
  log_info("data {}: found {} in {}", name_or_path, format.looked_for, path.string());
  Splits whole = format.open(path, options);
  whole.train = as_trained(std::move(whole.train), options.trained);
  whole.test = as_trained(std::move(whole.test), options.trained);
  Splits splits = divide(std::move(whole), options);
  const DatasetInfo& info = splits.train->info();
  log_info("data {}: {} training samples, {} test samples, {}", name_or_path, splits.train->size(),
           splits.test->size(),
           info.targets.values > 0 ? fmt::format("{} values each", info.targets.values)
                                   : fmt::format("{} classes", info.classes.size()));
  return splits;
}

Splits divide(Splits splits, const OpenOptions& options) {
  if (options.validation > 0) {
    Splits parts = split_share(std::move(splits.train), options.validation, options.seed);
    if (!splits.test) return parts;
    return {std::move(parts.train), std::move(splits.test), std::move(parts.test)};
  }
  return splits.test ? std::move(splits) : split_every_tenth(std::move(splits.train));
}

}  // namespace syrtos::data

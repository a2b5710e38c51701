#include "syrtos/data/open.h"

#include <array>

#include "syrtos/base/error.h"
#include "syrtos/base/log.h"
#include "syrtos/data/fetch/catalogue.h"
#include "syrtos/data/formats/cifar.h"
#include "syrtos/data/formats/csv.h"
#include "syrtos/data/formats/image_folder.h"
#include "syrtos/data/formats/mnist.h"
#include "syrtos/data/formats/numpy.h"
#include "syrtos/data/pack/pack_files.h"
#include "syrtos/data/pictures/picture.h"

namespace syrtos::data {

namespace fs = std::filesystem;

namespace {

struct Format {
  const char* looked_for;
  bool (*has)(const fs::path&);
  Splits (*open)(const fs::path&);
};

Splits open_stored(const fs::path& directory) { return open_packs(directory, decode_into); }

// The order counts: image folders, which need the least to be taken for one, come last.
constexpr std::array kFormats = {
    Format{"packs (train.pack, test.pack)", has_packs, open_stored},
    Format{"MNIST's four IDX files", has_mnist, open_mnist},
    Format{"CIFAR's files or their archive", has_cifar, open_cifar},
    Format{"NumPy arrays (.npz; x_train.npy, ...)", has_numpy, open_numpy},
    Format{"signals as text (.csv, .tsv; train.csv and test.csv)", has_csv, open_csv},
    Format{"a folder of pictures per class", has_image_folder, open_image_folder},
};

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
  std::string list;
  for (const Format& format : kFormats) list += fmt::format("\n  {}", format.looked_for);
  fail_request("{}: found no data in a format that is known; looked for:{}", path.string(), list);
}

bool is_plain_name(const fs::path& path) {
  return !path.empty() && path == path.filename() && path != "." && path != "..";
}

fs::path path_of(const std::string& name_or_path, const fs::path& cache_home) {
  std::error_code ignored;
  const bool known = find_known(name_or_path) != nullptr;
  const bool local = fs::exists(name_or_path, ignored);
  const bool plain = is_plain_name(name_or_path);
  const fs::path fetched = data_directory(cache_home) / name_or_path;
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
  fail_request("--data: expected a data set or a path, found '{}', which is neither", name_or_path);
}

}  // namespace

fs::path data_directory(const fs::path& cache_home) { return cache_home / "syrtos" / "data"; }

Found find(const std::string& name_or_path, const fs::path& cache_home) {
  const fs::path path = path_of(name_or_path, cache_home);
  return {path, format_of(path).looked_for};
}

Splits open(const std::string& name_or_path, const fs::path& cache_home) {
  const fs::path path = path_of(name_or_path, cache_home);
  const Format& format = format_of(path);
  log_info("data {}: found {} in {}", name_or_path, format.looked_for, path.string());
  Splits splits = format.open(path);
  log_info("data {}: {} training samples, {} test samples, {} classes", name_or_path,
           splits.train->size(), splits.test->size(), splits.train->info().classes.size());
  return splits;
}

}  // namespace syrtos::data

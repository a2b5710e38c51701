#include "syrtos/data/open.h"

#include <array>

#include "syrtos/base/error.h"
#include "syrtos/data/catalogue.h"
#include "syrtos/data/cifar.h"
#include "syrtos/data/csv.h"
#include "syrtos/data/image_folder.h"
#include "syrtos/data/mnist.h"
#include "syrtos/data/numpy.h"
#include "syrtos/data/pack.h"
#include "syrtos/data/picture.h"

namespace syrtos::data {

namespace fs = std::filesystem;

namespace {

struct Format {
  const char* looked_for;
  bool (*has)(const fs::path&);
  Splits (*open)(const fs::path&);
};

Splits open_stored(const fs::path& directory) { return open_packs(directory, decode_into); }

// In this order: image folders, which need the least to be taken for one, come last.
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
  std::string list;
  for (const Format& format : kFormats) list += fmt::format("\n  {}", format.looked_for);
  fail_request("{}: found no data in a format that is known; looked for:{}", path.string(), list);
}

fs::path path_of(const std::string& name_or_path, const fs::path& cache_home) {
  std::error_code ignored;
  const fs::path fetched = data_directory(cache_home) / name_or_path;
  if (fs::is_directory(fetched, ignored)) return fetched;
  if (fs::exists(name_or_path, ignored)) return name_or_path;
  if (find_known(name_or_path) != nullptr) {
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
  return format_of(path).open(path);
}

}  // namespace syrtos::data

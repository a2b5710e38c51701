#include "syrtos/data/pack/pack_files.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "syrtos/base/error.h"
#include "syrtos/data/pack/pack_format.h"
#include "syrtos/data/sets/interleave.h"

namespace syrtos::data {

namespace fs = std::filesystem;

bool is_pack(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return false;
  char magic[sizeof kPackMagic] = {};
  std::ifstream(file, std::ios::binary).read(magic, sizeof magic);
  return std::memcmp(magic, kPackMagic, sizeof magic) == 0;
}

namespace {

/// DIRECTORY/SPLIT*.pack in the order of their names.
std::vector<fs::path> packs_of(const fs::path& directory, std::string_view split) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const fs::path& file = entry.path();
    if (file.extension() == ".pack" && file.filename().string().starts_with(split)) {
      files.push_back(file);
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::unique_ptr<Dataset> open_split(const std::vector<fs::path>& files,
                                    const PictureDecoder& decode) {
  std::vector<std::unique_ptr<Dataset>> parts;
  std::vector<std::string> names;
  for (const fs::path& file : files) {
    parts.push_back(open_pack(file, decode));
    names.push_back(file.string());
  }
  return interleave(std::move(parts), std::move(names));
}

}  // namespace

bool has_packs(const fs::path& directory) {
  return !packs_of(directory, "train").empty() && !packs_of(directory, "test").empty();
}

Splits open_packs(const fs::path& directory, const PictureDecoder& decode) {
  const auto train = packs_of(directory, "train");
  const auto test = packs_of(directory, "test");
  if (train.empty() || test.empty()) {
    fail_request("{}: expected train.pack and test.pack, found no {}", directory.string(),
                 train.empty() ? "train.pack" : "test.pack");
  }
  Splits splits{open_split(train, decode), open_split(test, decode)};
  check_agreement(splits.train->info(), train.front().string(), splits.test->info(),
                  test.front().string());
  return splits;
}

}  // namespace syrtos::data

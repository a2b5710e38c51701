#include "syrtos/data/formats/mnist.h"

#include <algorithm>
#include <array>

#include "syrtos/base/error.h"
#include "syrtos/data/formats/idx.h"
#include "syrtos/data/sets/table.h"

namespace syrtos::data {

namespace fs = std::filesystem;

namespace {

constexpr std::array<const char*, 4> kFiles = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                               "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

// The file in its plain or compressed form; empty when there is neither.
fs::path find_file(const fs::path& directory, const char* name) {
  std::error_code ignored;
  for (const char* suffix : {"", ".gz"}) {
    fs::path file = directory / (std::string(name) + suffix);
    if (fs::is_regular_file(file, ignored)) return file;
  }
  return {};
}

struct Half {
  IdxBytes images;
  std::vector<uint8_t> labels;
};

Half read_half(const fs::path& directory, const char* images_name, const char* labels_name) {
  const fs::path images = find_file(directory, images_name);
  const fs::path labels = find_file(directory, labels_name);
  Half half = {.images = read_idx(images, 3), .labels = read_idx(labels, 1).values};
  if (half.images.extents[0] != static_cast<int64_t>(half.labels.size())) {
    fail_request("{} has {} images but {} has {} labels: expected as many", images.string(),
                 half.images.extents[0], labels.string(), half.labels.size());
  }
  return half;
}

std::unique_ptr<Dataset> make_table(Half half, const fs::path& directory, int classes) {
  DatasetInfo info{.name = directory.string(),
                   .channels = 1,
                   .height = half.images.extents[1],
                   .width = half.images.extents[2]};
  for (int k = 0; k < classes; ++k) info.classes.push_back(std::to_string(k));
  return std::make_unique<Table>(std::move(info), std::move(half.images.values),
                                 std::vector<int32_t>(half.labels.begin(), half.labels.end()));
}

}  // namespace

bool has_mnist(const fs::path& directory) {
  return std::all_of(kFiles.begin(), kFiles.end(),
                     [&](const char* name) { return !find_file(directory, name).empty(); });
}

Splits open_mnist(const fs::path& directory) {
  for (const char* name : kFiles) {
    if (find_file(directory, name).empty()) {
      fail_request("no MNIST in {}: expected {} (or .gz), found no such file", directory.string(),
                   name);
    }
  }
  Half train = read_half(directory, kFiles[0], kFiles[1]);
  Half test = read_half(directory, kFiles[2], kFiles[3]);
  if (train.images.extents[1] != test.images.extents[1] ||
      train.images.extents[2] != test.images.extents[2]) {
    fail_request("{}: the training images are {}x{}, the test images {}x{}: expected one size",
                 directory.string(), train.images.extents[1], train.images.extents[2],
                 test.images.extents[1], test.images.extents[2]);
  }
  const int classes = 1 + *std::max_element(train.labels.begin(), train.labels.end());
  const auto wrong = std::find_if(test.labels.begin(), test.labels.end(),
                                  [&](uint8_t label) { return label >= classes; });
  if (wrong != test.labels.end()) {
    constexpr int64_t kLabelHeader = 8;  // bytes before the first label
    fail_request("{}: at offset {} expected a label from 0 to {}, as in training, found {}",
                 find_file(directory, kFiles[3]).string(),
                 kLabelHeader + (wrong - test.labels.begin()), classes - 1, *wrong);
  }
  return {make_table(std::move(train), directory, classes),
          make_table(std::move(test), directory, classes)};
}

}  // namespace syrtos::data

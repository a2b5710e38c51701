#include "syrtos/data/mnist.h"

#include <algorithm>
#include <array>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/data/idx.h"

namespace syrtos::data {

namespace fs = std::filesystem;

namespace {

constexpr std::array<const char*, 4> kFiles = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                               "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
constexpr int64_t kLabelHeader = 8;  // bytes before the first label

// The file in its plain or compressed form; empty when there is neither.
fs::path find_file(const fs::path& directory, const char* name) {
  std::error_code ignored;
  for (const char* suffix : {"", ".gz"}) {
    fs::path file = directory / (std::string(name) + suffix);
    if (fs::is_regular_file(file, ignored)) return file;
  }
  return {};
}

fs::path find_directory(const std::optional<fs::path>& given, const fs::path& data_home) {
  if (given) {
    for (const char* name : kFiles) {
      if (find_file(*given, name).empty()) {
        fail_request(
            "no MNIST in {}: expected {} (or .gz), found no such file; "
            "run tools/bootstrap, which fetches it, or name another --data directory",
            given->string(), name);
      }
    }
    return *given;
  }
  std::string tried;
  for (const fs::path& place : mnist_places(data_home)) {
    if (has_mnist(place)) return place;
    tried += (tried.empty() ? "" : ", ") + place.string();
  }
  fail_request(
      "MNIST not found: looked in {}; run tools/bootstrap, which fetches it, "
      "or say where it is with --data DIR",
      tried);
}

std::unique_ptr<Dataset> open(const fs::path& directory, const char* images, const char* labels) {
  return std::make_unique<Mnist>(find_file(directory, images), find_file(directory, labels));
}

}  // namespace

Mnist::Mnist(const fs::path& images, const fs::path& labels) {
  IdxBytes image_file = read_idx(images, 3);
  IdxBytes label_file = read_idx(labels, 1);
  if (image_file.extents[0] != label_file.extents[0]) {
    fail_request("{} has {} images but {} has {} labels: expected as many", images.string(),
                 image_file.extents[0], labels.string(), label_file.extents[0]);
  }
  const auto wrong = std::find_if(label_file.values.begin(), label_file.values.end(),
                                  [](uint8_t label) { return label > 9; });
  if (wrong != label_file.values.end()) {
    fail_request("{}: at offset {} expected a label from 0 to 9, found {}", labels.string(),
                 kLabelHeader + (wrong - label_file.values.begin()), *wrong);
  }
  height_ = image_file.extents[1];
  width_ = image_file.extents[2];
  pixels_ = std::move(image_file.values);
  labels_ = std::move(label_file.values);
}

void Mnist::fill(std::span<const int64_t> indices, const BatchView& batch) const {
  SYRTOS_CHECK(batch.labels.size() == indices.size(), "{} {}", batch.labels.size(), indices.size());
  for (const int64_t sample : indices) {
    SYRTOS_CHECK(sample >= 0 && sample < size(), "sample {} of {}", sample, size());
  }
  const int64_t elements = height_ * width_;
  // One channel: channels-last is the file's order.
  const auto fill_as = [&]<typename T>(T* images) {
    std::array<T, 256> table;
    for (size_t v = 0; v < table.size(); ++v) {
      table[v] = T((static_cast<float>(v) / 255.0F - kMean) / kDeviation);
    }
    parallel_for(static_cast<int64_t>(indices.size()), 1, 16, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        const auto sample = indices[static_cast<size_t>(n)];
        batch.labels[static_cast<size_t>(n)] = labels_[static_cast<size_t>(sample)];
        const uint8_t* from = pixels_.data() + sample * elements;
        T* to = images + n * elements;
        for (int64_t i = 0; i < elements; ++i) to[i] = table[from[i]];
      }
    });
  };
  if (batch.dtype == DType::bf16) {
    fill_as(static_cast<BFloat16*>(batch.images));
  } else {
    fill_as(static_cast<float*>(batch.images));
  }
}

std::vector<fs::path> mnist_places(const fs::path& data_home) {
  return {fs::path("build") / "data" / "mnist", data_home / "syrtos" / "mnist"};
}

bool has_mnist(const fs::path& directory) {
  return std::all_of(kFiles.begin(), kFiles.end(),
                     [&](const char* name) { return !find_file(directory, name).empty(); });
}

DataPair open_mnist(const std::optional<fs::path>& directory, const fs::path& data_home) {
  const fs::path place = find_directory(directory, data_home);
  return {open(place, kFiles[0], kFiles[1]), open(place, kFiles[2], kFiles[3])};
}

std::unique_ptr<Dataset> open_mnist_test(const std::optional<fs::path>& directory,
                                         const fs::path& data_home) {
  return open(find_directory(directory, data_home), kFiles[2], kFiles[3]);
}

}  // namespace syrtos::data

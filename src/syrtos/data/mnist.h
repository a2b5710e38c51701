#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// 28x28 grey images of ten kinds, held as bytes and normalised when a batch is filled.
class Mnist : public Dataset {
 public:
  /// Mean and standard deviation of the training pixels, as fractions of 255.
  static constexpr float kMean = 0.1307F;
  static constexpr float kDeviation = 0.3081F;

  /// Throws RequestError: a file that is not there or damaged, a label above 9, counts that differ.
  Mnist(const std::filesystem::path& images, const std::filesystem::path& labels);

  std::string name() const override { return "mnist"; }
  int64_t size() const override { return static_cast<int64_t>(labels_.size()); }
  Shape image_shape() const override { return {1, height_, width_}; }
  int64_t classes() const override { return 10; }
  void fill(std::span<const int64_t> indices, const BatchView& batch) const override;

 private:
  std::vector<uint8_t> pixels_;
  std::vector<uint8_t> labels_;
  int64_t height_ = 0;
  int64_t width_ = 0;
};

/// Directories that are tried when none is given: build/data/mnist here, then syrtos/mnist in the
/// user's data directory (`data_home`: $XDG_DATA_HOME or ~/.local/share).
std::vector<std::filesystem::path> mnist_places(const std::filesystem::path& data_home);

/// Whether the directory holds the four files, plain or with .gz.
bool has_mnist(const std::filesystem::path& directory);

/// Reads the training and the test images from `directory`, or from the first of the places that
/// has them. Throws RequestError that names every place and what to do.
DataPair open_mnist(const std::optional<std::filesystem::path>& directory,
                    const std::filesystem::path& data_home);
/// The test images alone.
std::unique_ptr<Dataset> open_mnist_test(const std::optional<std::filesystem::path>& directory,
                                         const std::filesystem::path& data_home);

}  // namespace syrtos::data

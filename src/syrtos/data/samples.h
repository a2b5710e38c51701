#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "syrtos/data/dataset.h"
#include "syrtos/data/sets/resized.h"

namespace syrtos::data {

/// What a network takes.
struct SampleWish {
  Shape image = {};               ///< [channels, height, width]
  Fit fit = Fit::exact;           ///< how pictures of another size become those
  std::string label_column = {};  ///< of tables that have what the network was trained to find out
  std::vector<std::string> columns = {};  ///< of the table that it was trained on, or none
};

/// Samples, and what people call each.
struct NamedSamples {
  std::shared_ptr<const Dataset> data;
  std::vector<std::string> names;
};

/// Samples to predict, whatever they are in: a picture, a folder with pictures in it or below, a
/// table that names pictures, NumPy arrays (.npy, or .npz with x or x_test), numbers as text (.csv,
/// .tsv; columns of labels are passed over) or a pack. Throws RequestError that says what was
/// expected and what was found, also for samples that the network does not take.
NamedSamples open_samples(const std::filesystem::path& path, const SampleWish& wish);

}  // namespace syrtos::data

#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// The data that a network was trained on, as far as other data has to be like it.
struct Trained {
  Shape image = {};                       ///< [channels, height, width]; none: nothing is known
  std::vector<std::string> columns = {};  ///< names of a table's columns, or none
  std::vector<std::string> classes = {};  ///< in the order of the network's outputs
};

/// Where each of the wanted columns is among those that were found, by name; throws RequestError
/// with both lists when the names are not the same.
std::vector<size_t> places_of_columns(std::span<const std::string> wanted,
                                      std::span<const std::string> found, const std::string& name);

/// Throws RequestError when samples are of another kind or length than a network takes: pictures,
/// or rows and signals. Pictures of another size are no mistake, they can be scaled.
void require_kind(const DatasetInfo& found, const Trained& trained);

/// The data with columns and classes in the order of training, whatever their order is here: both
/// are matched by their names. Where one side has none (classes are called 0, 1, ...; a file has no
/// header) they go by position. Throws RequestError for names that training did not have.
std::unique_ptr<Dataset> as_trained(std::unique_ptr<Dataset> of, const Trained& trained);

}  // namespace syrtos::data

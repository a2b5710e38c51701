#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "syrtos/api/predict.h"

namespace syrtos::api {

/// What a network, or an ensemble, says of samples.
struct Predictions {
  std::vector<std::string> samples;  ///< What people call each.
  std::vector<float> rows;           ///< Of each sample: see train::answers().
  std::vector<std::string> outputs;  ///< Names of the classes, labels or values.
  nn::Task task;
  std::vector<int64_t> shape;           ///< Of a sample's values.
  std::vector<std::string> notes = {};  ///< What people should know about how samples are read.

  std::span<const float> row(size_t sample) const {
    return std::span(rows).subspan(sample * outputs.size(), outputs.size());
  }
};

/// Predicts what the inputs hold (see train::Predictor::open), one after the other. Throws
/// RequestError, also for samples that turn out to be damaged; RunError when it was stopped.
Predictions predict(const LoadRequest& request, const std::vector<std::string>& inputs,
                    const Surroundings& surroundings);

/// Classes by probability, of at most so many.
std::vector<size_t> most_probable(std::span<const float> row, size_t most);

/// An object for each sample: "image", and "top" (classes), "labels" or "values".
nlohmann::json to_json(const Predictions& predictions);

/// Writes them to a .csv file (a line for each sample), a .npz file (array predictions, of classes
/// also classes: the most probable ones) or a .json file. Throws RequestError for another ending.
void write(const Predictions& predictions, const std::filesystem::path& file);

}  // namespace syrtos::api

#include "syrtos/api/predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "syrtos/api/ensemble.h"
#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/data/pictures/picture.h"
#include "syrtos/weights/npz.h"

namespace syrtos::api {

using nlohmann::json;

namespace {

constexpr size_t kTop = 3;

/// A network for one sample at a time, where there are only a few.
int64_t batch_of(const std::vector<std::string>& inputs) {
  constexpr int64_t kUsual = 64;
  const bool single = std::all_of(inputs.begin(), inputs.end(), [](const std::string& input) {
    return input.starts_with("test:") || data::has_picture_name(input);
  });
  return single ? std::min(kUsual, static_cast<int64_t>(inputs.size())) : kUsual;
}

void describe(const train::NetworkDescription& about, Predictions& predictions) {
  const auto outputs = static_cast<size_t>(about.options.classes);
  predictions.task = about.options.task;
  predictions.shape = about.targets.shape;
  predictions.outputs = about.class_names;
  for (int64_t k = 0; k < about.targets.values; ++k) {
    predictions.outputs.push_back(about.targets.name(k));
  }
  for (size_t k = predictions.outputs.size(); k < outputs; ++k) {
    predictions.outputs.push_back(std::to_string(k));
  }
  predictions.outputs.resize(outputs);
}

/// In quotes where a comma, a quote or an end of line is in it.
std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string csv_of(const Predictions& predictions) {
  const bool classes = predictions.task.has_classes();
  std::string text = classes ? "sample,class" : "sample";
  for (const std::string& name : predictions.outputs) text += "," + csv_text(name);
  text += "\n";
  for (size_t i = 0; i < predictions.samples.size(); ++i) {
    text += csv_text(predictions.samples[i]);
    const std::span<const float> row = predictions.row(i);
    if (classes) text += "," + csv_text(predictions.outputs[most_probable(row, 1)[0]]);
    for (const float value : row) text += fmt::format(",{}", value);
    text += "\n";
  }
  return text;
}

void write_npz(const Predictions& predictions, const std::filesystem::path& file) {
  const auto samples = static_cast<int64_t>(predictions.samples.size());
  Shape shape{samples};
  const bool has_shape = predictions.shape.size() + 1 <= static_cast<size_t>(Shape::kMaxRank) &&
                         !predictions.task.has_classes() &&
                         (!predictions.shape.empty() || predictions.outputs.size() == 1);
  if (has_shape) {
    for (const int64_t extent : predictions.shape) shape.append(extent);
  } else {
    shape.append(static_cast<int64_t>(predictions.outputs.size()));
  }
  weights::NpzWriter writer(file);
  writer.write("predictions", Tensor::from(shape, predictions.rows));
  if (predictions.task.has_classes()) {
    std::vector<float> classes;
    for (size_t i = 0; i < predictions.samples.size(); ++i) {
      classes.push_back(static_cast<float>(most_probable(predictions.row(i), 1)[0]));
    }
    writer.write("classes", Tensor::from({samples}, classes));
  }
  writer.finish();
}

}  // namespace

std::vector<size_t> most_probable(std::span<const float> row, size_t most) {
  std::vector<size_t> order(row.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return row[a] > row[b]; });
  order.resize(std::min(order.size(), most));
  return order;
}

Predictions predict(const LoadRequest& asked, const std::vector<std::string>& inputs,
                    const Surroundings& surroundings) {
  LoadRequest request = asked;
  request.batch = batch_of(inputs);
  std::optional<EnsemblePredictor> ensemble;
  std::optional<train::Predictor> alone;
  if (is_ensemble(request.checkpoint)) {
    ensemble.emplace(request, surroundings);
  } else {
    alone.emplace(load(request, surroundings));
  }
  train::Predictor& first = ensemble ? ensemble->first() : *alone;
  Predictions predictions;
  describe(first.description(), predictions);
  for (const std::string& input : inputs) {
    const data::NamedSamples samples = first.open(input);
    std::vector<float> rows;
    try {
      rows = ensemble ? ensemble->predict(*samples.data, surroundings.should_stop)
                      : alone->predict(*samples.data, surroundings.should_stop);
    } catch (const RunError& error) {
      throw RequestError(error.what());  // a damaged file was asked for: nothing else was begun
    }
    if (rows.empty()) fail_run("interrupted");
    predictions.rows.insert(predictions.rows.end(), rows.begin(), rows.end());
    predictions.samples.insert(predictions.samples.end(), samples.names.begin(),
                               samples.names.end());
  }
  predictions.notes = first.notes();
  return predictions;
}

json to_json(const Predictions& predictions) {
  json list = json::array();
  for (size_t i = 0; i < predictions.samples.size(); ++i) {
    const std::span<const float> row = predictions.row(i);
    json entry = {{"image", predictions.samples[i]}};
    if (predictions.task.has_classes()) {
      for (const size_t k : most_probable(row, kTop)) {
        entry["top"].push_back(
            {{"class", k}, {"name", predictions.outputs[k]}, {"probability", row[k]}});
      }
    } else {
      json& named = entry[predictions.task.has_labels() ? "labels" : "values"];
      const char* key = predictions.task.has_labels() ? "probability" : "value";
      for (size_t k = 0; k < row.size(); ++k) {
        named.push_back({{"name", predictions.outputs[k]}, {key, row[k]}});
      }
    }
    list.push_back(std::move(entry));
  }
  return list;
}

void write(const Predictions& predictions, const std::filesystem::path& file) {
  const std::string extension = file.extension().string();
  if (extension == ".npz") {
    write_npz(predictions, file);
    return;
  }
  AtomicFile out(file);
  out.write(extension == ".csv"
                ? csv_of(predictions)
                : to_json(predictions).dump(1, ' ', false, json::error_handler_t::replace) + "\n");
  out.commit();
}

}  // namespace syrtos::api

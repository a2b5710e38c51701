#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "syrtos/api/predictions.h"
#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/cli/command.h"
#include "syrtos/cli/output_file.h"
#include "syrtos/report/score_table.h"

namespace syrtos::cli {

namespace {

constexpr size_t kShown = 3;  // of the classes

struct PredictOptions {
  api::LoadRequest load;
  std::vector<std::string> inputs;
  std::filesystem::path to = {};
  bool json = false;
};

/// "cat.jpg:  cat (99.1 %)  dog (0.8 %)  bird (0.1 %)"
void print_classes(const api::Predictions& predictions) {
  for (size_t i = 0; i < predictions.samples.size(); ++i) {
    const std::span<const float> row = predictions.row(i);
    std::string line;
    for (const size_t k : api::most_probable(row, kShown)) {
      line += fmt::format("  {} ({:.1f} %)", predictions.outputs[k], 100 * row[k]);
    }
    fmt::print("{}:{}\n", predictions.samples[i], line);
  }
}

/// Labels that are more probable than not.
void print_labels(const api::Predictions& predictions) {
  for (size_t i = 0; i < predictions.samples.size(); ++i) {
    const std::span<const float> row = predictions.row(i);
    std::string line;
    for (const size_t k : api::most_probable(row, row.size())) {
      if (row[k] <= 0.5F) break;
      line += fmt::format("  {} ({:.1f} %)", predictions.outputs[k], 100 * row[k]);
    }
    fmt::print("{}:{}\n", predictions.samples[i], line.empty() ? "  none of the labels" : line);
  }
}

void print_values(const api::Predictions& predictions) {
  report::ScoreTable table{.columns = {"sample"}, .rows = {}};
  table.columns.insert(table.columns.end(), predictions.outputs.begin(), predictions.outputs.end());
  for (size_t i = 0; i < predictions.samples.size(); ++i) {
    std::vector<std::string>& cells = table.rows.emplace_back();
    cells.push_back(predictions.samples[i]);
    for (const float value : predictions.row(i)) cells.push_back(fmt::format("{:.6g}", value));
  }
  fmt::print("{}", to_text(table));
}

int run_predict(const PredictOptions& options, const Context& context) {
  if (!options.to.empty()) check_file_to_write("--to", options.to, {".csv", ".npz", ".json"});
  const api::Predictions predictions =
      api::predict(options.load, options.inputs, surroundings(context));
  for (const std::string& note : predictions.notes) fmt::print(stderr, "note: {}\n", note);
  if (!options.to.empty()) {
    api::write(predictions, options.to);
    if (!options.json) {
      fmt::print("{} predictions in {}\n", format_count(std::ssize(predictions.samples)),
                 options.to.string());
      return kExitDone;
    }
  }
  if (options.json) {
    fmt::print("{}\n",
               to_json(predictions).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else if (predictions.task.has_classes()) {
    print_classes(predictions);
  } else if (predictions.task.has_labels()) {
    print_labels(predictions);
  } else {
    print_values(predictions);
  }
  return kExitDone;
}

}  // namespace

void add_predict(Command app, Run& run) {
  auto options = std::make_shared<PredictOptions>();
  Command command = app.add_subcommand(
      "predict", "What a trained network says of pictures, arrays or rows of numbers");
  command.add_option("RUN", options->load.checkpoint, "run directory, checkpoint or ensemble")
      .required()
      .type_name("");
  command
      .add_option("INPUT", options->inputs,
                  "picture (JPEG, PNG, WebP, BMP, PNM), folder of pictures, .npy or .npz with x, "
                  ".csv or .tsv, a pack; test for the test data, test:INDEX for one of its samples")
      .required()
      .take_all()
      .type_name("");
  command
      .add_option("--to", options->to,
                  "write all predictions to a .csv, .npz or .json file instead of printing them")
      .type_name("FILE");
  command.add_option("--data", options->load.data,
                     "where test is (default: what it was trained on)");
  command.add_option("--precision", options->load.precision,
                     "f32 or bf16 (default: as it was trained)");
  command.add_option("--threads", options->load.threads, "default: all cores");
  command.add_option("--views", options->load.views,
                     "of each sample, averaged: none, flip or flip+shift");
  command.add_flag("--json", options->json, "print the result as JSON");
  command.footer(
      "Examples:\n"
      "  syrtos predict runs/lenet5-20260101-120000 test:0 test:1\n"
      "  syrtos predict runs/lenet5-20260101-120000/best.ckpt cat.jpg --json\n"
      "  syrtos predict runs/resnet18-20260101-120000 holiday/ --to holiday.csv\n"
      "  syrtos predict runs/mlp-20260101-120000 houses.csv --to prices.npz");
  command.callback([options, &run] {
    run = [options](const Context& context) { return run_predict(*options, context); };
  });
}

}  // namespace syrtos::cli

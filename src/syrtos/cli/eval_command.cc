#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "syrtos/api/ensemble.h"
#include "syrtos/api/predict.h"
#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/base/format.h"
#include "syrtos/cli/command.h"
#include "syrtos/cli/ensemble_report.h"
#include "syrtos/report/class_report.h"

namespace syrtos::cli {

namespace {

struct Options {
  api::LoadRequest load;
  bool report = false;
  std::filesystem::path picture = {};  ///< SVG file to draw the matrix into
  bool json = false;
};

nlohmann::json to_json(const report::ClassScore& score) {
  return {{"name", score.name},
          {"precision", score.precision},
          {"recall", score.recall},
          {"f1", score.f1},
          {"samples", score.samples}};
}

nlohmann::json to_json(const report::ClassReport& report) {
  nlohmann::json classes = nlohmann::json::array();
  nlohmann::json confusion = nlohmann::json::array();
  for (size_t label = 0; label < report.names.size(); ++label) {
    classes.push_back(to_json(report.classes[label]));
    nlohmann::json row = nlohmann::json::array();
    for (size_t other = 0; other < report.names.size(); ++other) {
      row.push_back(report.count(label, other));
    }
    confusion.push_back(std::move(row));
  }
  return {{"classes", classes},
          {"mean_of_classes", to_json(report.mean)},
          {"mean_of_samples", to_json(report.weighted)},
          {"confusion", confusion}};
}

void write_picture(const report::ClassReport& report, const std::filesystem::path& file) {
  AtomicFile out(file);
  out.write(report::to_svg(report));
  out.commit();
}

int run_eval(const Options& options, const Context& context) {
  if (!options.picture.empty() && options.picture.extension() != ".svg") {
    fail_request("--picture: expected a file that ends with .svg, found {}",
                 options.picture.string());
  }
  if (api::is_ensemble(options.load.checkpoint)) {
    if (options.report || !options.picture.empty()) {
      fail_request("--report and --picture are of one network: name a member of {}",
                   options.load.checkpoint.string());
    }
    return eval_ensemble(options.load, options.json, context);
  }
  train::Predictor predictor = api::load(options.load, surroundings(context));
  const bool by_class = options.report || !options.picture.empty();
  const train::Evaluation result = predictor.evaluate_test(context.interrupted, by_class);
  if (context.interrupted()) {
    fmt::print(stderr, "interrupted after {} samples\n", result.samples);
    return kExitFailed;
  }
  // Of five classes all are among the five most probable.
  const nn::ModelOptions& network = predictor.description().options;
  const bool has_top5 = network.classes > 5;
  std::optional<report::ClassReport> classes;
  if (by_class) classes = report::make_class_report(result.confusion, predictor.class_names());
  if (!options.picture.empty()) write_picture(*classes, options.picture);
  if (options.json) {
    nlohmann::json json = {{"checkpoint", predictor.checkpoint().string()},
                           {"network", to_string(predictor.description().network)},
                           {"data", predictor.description().data},
                           {"precision", to_string(predictor.precision().dtype)},
                           {"samples", result.samples},
                           {"loss", result.loss},
                           {"accuracy", result.accuracy},
                           {"seconds", result.seconds}};
    if (has_top5) json["top5"] = result.top5;
    if (options.report) json["report"] = to_json(*classes);
    fmt::print("{}\n", json.dump());
    return kExitDone;
  }
  fmt::print("{} ({}) on {}: {} test {}s in {}, loss {:.4f}, accuracy {:.2f} %{}, {}\n",
             to_string(predictor.description().network), predictor.checkpoint().string(),
             predictor.description().data, format_count(result.samples),
             network.height > 1 ? "image" : "sample", to_string(predictor.precision().dtype),
             result.loss, 100 * result.accuracy,
             has_top5 ? fmt::format(", top 5 {:.2f} %", 100 * result.top5) : "",
             format_duration(result.seconds));
  if (options.report) fmt::print("\n{}", report::to_text(*classes));
  return kExitDone;
}

}  // namespace

void add_eval(Command app, Run& run) {
  auto options = std::make_shared<Options>();
  Command command = app.add_subcommand("eval", "Measure a trained network on test data");
  command.add_option("RUN", options->load.checkpoint, "run directory, checkpoint or ensemble")
      .required()
      .type_name("");
  command.add_option("--data", options->load.data, "default: what it was trained on");
  command.add_option("--precision", options->load.precision,
                     "f32 or bf16 (default: as it was trained)");
  command.add_option("--threads", options->load.threads, "default: all cores");
  command.add_option("--batch", options->load.batch, "samples at a time");
  command.add_option("--views", options->load.views,
                     "of each sample, averaged: none, flip or flip+shift");
  command.add_flag("--report", options->report,
                   "precision, recall and F1 of each class, and what is confused most often");
  command
      .add_option("--picture", options->picture, "draw what is taken for what into this SVG file")
      .type_name("FILE.svg");
  command.add_flag("--json", options->json, "print the result as JSON");
  command.footer(
      "Examples:\n"
      "  syrtos eval runs/lenet5-20260101-120000\n"
      "  syrtos eval runs/lenet5-20260101-120000 --report --picture confusion.svg\n"
      "  syrtos eval runs/lenet5-20260101-120000/last.ckpt --precision f32 --json");
  command.callback([options, &run] {
    run = [options](const Context& context) { return run_eval(*options, context); };
  });
}

}  // namespace syrtos::cli

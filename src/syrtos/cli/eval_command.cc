#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "syrtos/api/ensemble.h"
#include "syrtos/api/predict.h"
#include "syrtos/base/counted.h"
#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/base/format.h"
#include "syrtos/cli/command.h"
#include "syrtos/cli/ensemble_report.h"
#include "syrtos/cli/output_file.h"
#include "syrtos/report/test_report.h"

namespace syrtos::cli {

namespace {

struct EvalOptions {
  api::LoadRequest load;
  bool report = false;
  std::filesystem::path picture = {};  ///< SVG file to draw the matrix into
  bool json = false;
};

void write_picture(const std::string& svg, const std::filesystem::path& file) {
  AtomicFile out(file);
  out.write(svg);
  out.commit();
}

/// "top 5 99.12 %": what is worth a word beside what people see anyway.
std::string scores_text(const train::Evaluation& result, int64_t outputs) {
  std::string text;
  for (const run::Score& score : result.scores) {
    // Of five classes all are among the five most probable.
    if (score.metric->name == "top5" && outputs <= 5) continue;
    text += fmt::format(", {}", score.metric->named_text(score.value));
  }
  return text;
}

int run_eval(const EvalOptions& options, const Context& context) {
  if (!options.picture.empty()) check_file_to_write("--picture", options.picture, {".svg"});
  if (api::is_ensemble(options.load.checkpoint)) {
    if (options.report || !options.picture.empty()) {
      fail_request("--report and --picture are of one network: name a member of {}",
                   options.load.checkpoint.string());
    }
    return eval_ensemble(options.load, options.json, context);
  }
  train::Predictor predictor = api::load(options.load, surroundings(context));
  const bool in_detail = options.report || !options.picture.empty();
  const train::Evaluation result = predictor.evaluate_test(context.interrupted, in_detail);
  if (context.interrupted()) {
    fmt::print(stderr, "interrupted after {} samples\n", result.samples);
    return kExitFailed;
  }
  for (const std::string& note : predictor.notes()) fmt::print(stderr, "note: {}\n", note);
  const nn::ModelOptions& network = predictor.description().options;
  if (!options.picture.empty()) write_picture(report::report_svg(result.details), options.picture);
  if (options.json) {
    nlohmann::json json = {{"checkpoint", predictor.checkpoint().string()},
                           {"network", to_string(predictor.description().network)},
                           {"data", predictor.description().data},
                           {"precision", to_string(predictor.precision().dtype)},
                           {"samples", result.samples},
                           {"loss", result.loss},
                           {"seconds", result.seconds}};
    for (const run::Score& score : result.scores) {
      if (score.metric->name == "top5" && network.classes <= 5) continue;
      json[std::string(score.metric->name)] = score.value;
    }
    if (options.report) json["report"] = report::report_json(result.details);
    fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return kExitDone;
  }
  fmt::print("{} ({}) on {}: {} in {}, loss {:.4f}{}, {}\n",
             to_string(predictor.description().network), predictor.checkpoint().string(),
             predictor.description().data,
             counted(result.samples, fmt::format("{} {}", predictor.measured_word(),
                                                 network.height > 1 ? "image" : "sample")),
             to_string(predictor.precision().dtype), result.loss,
             scores_text(result, network.classes), format_duration(result.seconds));
  if (options.report) fmt::print("\n{}", report::report_text(result.details));
  return kExitDone;
}

}  // namespace

void add_eval(Command app, Run& run) {
  auto options = std::make_shared<EvalOptions>();
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
  command.add_flag(
      "--report", options->report,
      "class by class, label by label or value by value: precision, recall and F1, what "
      "is confused most often, or errors");
  command
      .add_option("--picture", options->picture,
                  "draw the report into this SVG file: what is taken for what, bars of labels, or "
                  "predictions over true values")
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

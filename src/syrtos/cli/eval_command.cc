#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "syrtos/api/predict.h"
#include "syrtos/base/format.h"
#include "syrtos/cli/command.h"

namespace syrtos::cli {

namespace {

struct Options {
  api::LoadRequest load;
  bool json = false;
};

int run_eval(const Options& options, const Context& context) {
  train::Predictor predictor = api::load(options.load, surroundings(context));
  const train::Evaluation result = predictor.evaluate_test(context.interrupted);
  if (context.interrupted()) {
    fmt::print(stderr, "interrupted after {} samples\n", result.samples);
    return kExitFailed;
  }
  // Of five classes all are among the five most probable.
  const nn::ModelOptions& network = predictor.description().options;
  const bool has_top5 = network.classes > 5;
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
  return kExitDone;
}

}  // namespace

void add_eval(Command app, Run& run) {
  auto options = std::make_shared<Options>();
  Command command = app.add_subcommand("eval", "Measure a trained network on test data");
  command.add_option("RUN", options->load.checkpoint, "run directory or checkpoint")
      .required()
      .type_name("");
  command.add_option("--data", options->load.data, "default: what it was trained on");
  command.add_option("--precision", options->load.precision, "auto, f32 or bf16");
  command.add_option("--threads", options->load.threads, "default: all cores");
  command.add_option("--batch", options->load.batch, "samples at a time");
  command.add_option("--views", options->load.views,
                     "of each sample, averaged: none, flip or flip+shift");
  command.add_flag("--json", options->json, "print the result as JSON");
  command.footer(
      "Examples:\n"
      "  syrtos eval runs/lenet5-20260101-120000\n"
      "  syrtos eval runs/lenet5-20260101-120000/last.ckpt --precision f32 --json");
  command.callback([options, &run] {
    run = [options](const Context& context) { return run_eval(*options, context); };
  });
}

}  // namespace syrtos::cli

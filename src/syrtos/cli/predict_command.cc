#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "syrtos/api/ensemble.h"
#include "syrtos/api/predict.h"
#include "syrtos/cli/command.h"

namespace syrtos::cli {

namespace {

constexpr size_t kShown = 3;

struct Options {
  api::LoadRequest load;
  std::vector<std::string> images;
  bool json = false;
};

// The most likely classes, best first.
std::vector<size_t> ranked(const std::vector<double>& probabilities) {
  std::vector<size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return probabilities[a] > probabilities[b]; });
  order.resize(std::min(order.size(), kShown));
  return order;
}

int run_predict(Options options, const Context& context) {
  options.load.batch = 1;
  const api::Surroundings here = surroundings(context);
  std::optional<api::EnsemblePredictor> ensemble;
  std::optional<train::Predictor> alone;
  if (api::is_ensemble(options.load.checkpoint)) {
    ensemble.emplace(options.load, here);
  } else {
    alone.emplace(api::load(options.load, here));
  }
  const std::vector<std::string>& names =
      (ensemble ? ensemble->first() : *alone).description().class_names;
  const auto name = [&](size_t k) { return k < names.size() ? names[k] : std::to_string(k); };
  nlohmann::json results = nlohmann::json::array();
  for (const std::string& image : options.images) {
    const std::vector<double> probabilities =
        ensemble ? ensemble->predict(image) : alone->predict(image);
    nlohmann::json classes = nlohmann::json::array();
    std::string line;
    for (const size_t k : ranked(probabilities)) {
      classes.push_back({{"class", k}, {"name", name(k)}, {"probability", probabilities[k]}});
      line += fmt::format("  {} ({:.1f} %)", name(k), 100 * probabilities[k]);
    }
    results.push_back({{"image", image}, {"top", classes}});
    if (!options.json) fmt::print("{}:{}\n", image, line);
  }
  if (options.json)
    fmt::print("{}\n", results.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  return kExitDone;
}

}  // namespace

void add_predict(Command app, Run& run) {
  auto options = std::make_shared<Options>();
  Command command = app.add_subcommand("predict", "Classify images with a trained network");
  command.add_option("RUN", options->load.checkpoint, "run directory, checkpoint or ensemble")
      .required()
      .type_name("");
  command
      .add_option("IMAGE", options->images,
                  "picture (JPEG, PNG, WebP, BMP, PNM), or test:INDEX of the test data")
      .required()
      .take_all()
      .type_name("");
  command.add_option("--data", options->load.data,
                     "where test:INDEX is (default: what it was trained on)");
  command.add_option("--precision", options->load.precision,
                     "f32 or bf16 (default: as it was trained)");
  command.add_option("--threads", options->load.threads, "default: all cores");
  command.add_flag("--json", options->json, "print the result as JSON");
  command.footer(
      "Examples:\n"
      "  syrtos predict runs/lenet5-20260101-120000 test:0 test:1\n"
      "  syrtos predict runs/lenet5-20260101-120000/best.ckpt cat.jpg --json");
  command.callback([options, &run] {
    run = [options](const Context& context) { return run_predict(*options, context); };
  });
}

}  // namespace syrtos::cli

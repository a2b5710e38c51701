#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "syrtos/cli/command.h"
#include "syrtos/graph/passes.h"
#include "syrtos/graph/print.h"
#include "syrtos/job/image_size.h"
#include "syrtos/job/networks.h"
#include "syrtos/job/precision.h"
#include "syrtos/job/request.h"
#include "syrtos/nn/summary.h"
#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/train/network/compiled_network.h"

namespace syrtos::cli {

namespace {

using nlohmann::json;

struct ModelsOptions {
  std::string name;
  std::string input = "auto";
  std::string precision = "f32";
  int64_t classes = job::kUnset;
  int64_t batch = 1;
  bool json = false;
  bool dot = false;
  bool optimised = false;
  bool compiled = false;
};

nn::ModelOptions model_options(const nn::Network& network, const ModelsOptions& options,
                               const Context& context) {
  nn::ModelOptions result = network.default_options();
  const Shape image = job::parse_image_size(options.input).shape_for(network.info());
  result.channels = image[0];
  result.height = image[1];
  result.width = image[2];
  if (options.classes != job::kUnset) result.classes = options.classes;
  result.batch = options.batch;
  result.dtype = job::choose_precision(options.precision, context.cpu, network, result).dtype;
  return result;
}

json shape_json(const Shape& shape) { return std::vector<int64_t>(shape.begin(), shape.end()); }

json to_json(const nn::ModelSummary& summary) {
  return {{"name", summary.name},
          {"input", shape_json(summary.input)},
          {"classes", summary.classes},
          {"parameters", summary.parameters},
          {"multiply_adds", summary.multiply_adds}};
}

int list_models(const ModelsOptions& options) {
  if (!options.json) {
    fmt::print("{}", nn::models_table(nn::zoo::networks()));
    return kExitDone;
  }
  json list = json::array();
  for (const nn::Network& network : nn::zoo::networks()) {
    json entry = to_json(nn::summarize(network.build(network.default_options())));
    entry["description"] = network.info().description;
    entry["source"] = network.info().source;
    list.push_back(entry);
  }
  fmt::print("{}\n", list.dump());
  return kExitDone;
}

int show_model(const ModelsOptions& options, const Context& context) {
  const nn::Network network = job::find_network(options.name);
  const nn::ModelOptions model = model_options(network, options, context);
  if (!options.json) {
    fmt::print("{}", nn::model_table(network, model));
    return kExitDone;
  }
  const nn::ModelSummary summary = nn::summarize(network.build(model));
  json result = to_json(summary);
  result["layers"] = json::array();
  for (const nn::LayerSummary& layer : summary.layers) {
    result["layers"].push_back({{"name", layer.name},
                                {"operation", layer.operation},
                                {"output", shape_json(layer.output)},
                                {"parameters", layer.parameters},
                                {"multiply_adds", layer.multiply_adds}});
  }
  fmt::print("{}\n", result.dump());
  return kExitDone;
}

int print_graph(const ModelsOptions& options, const Context& context) {
  const nn::Network network = job::find_network(options.name);
  const nn::ModelOptions model_with = model_options(network, options, context);
  if (options.compiled) {
    train::CompiledNetwork compiled(network, model_with, train::CompiledNetwork::Use::training);
    fmt::print("{}", compiled.training().program().to_table());
    return kExitDone;
  }
  nn::Model model = network.build(model_with);
  if (options.optimised) graph::recognise(model.graph);
  graph::add_gradients(model.graph, model.loss);
  if (options.optimised) graph::optimise(model.graph);
  fmt::print("{}", options.dot ? graph::to_dot(model.graph) : graph::to_table(model.graph));
  return kExitDone;
}

void add_model_options(Command command, ModelsOptions& options) {
  command
      .add_option("NAME", options.name,
                  "network, such as resnet34 or resnet34:shortcut=padded, or an ONNX file")
      .required()
      .type_name("");
  command.add_option("--input", options.input, "image size, 32, 48x64 or 3x48x64");
  command.add_option("--classes", options.classes, "number of classes");
}

}  // namespace

void add_models(Command app, Run& run) {
  auto options = std::make_shared<ModelsOptions>();
  Command command = app.add_subcommand("models", "List the networks, or show one");
  command.require_subcommand(0, 1);
  command.add_flag("--json", options->json, "print as JSON");
  command.footer(
      "Examples:\n"
      "  syrtos models\n"
      "  syrtos models show resnet18 --classes 1000 --input 224\n"
      "  syrtos models graph lenet5 --optimised --dot | dot -Tsvg > lenet5.svg");
  command.callback([options, command, &run] {
    if (command.has_chosen_subcommand()) return;
    run = [options](const Context&) { return list_models(*options); };
  });

  Command show = command.add_subcommand("show", "Print the layers of a network");
  add_model_options(show, *options);
  show.add_flag("--json", options->json, "print as JSON");
  show.footer("Example:\n  syrtos models show resnet50 --classes 10 --input 64");
  show.callback([options, &run] {
    run = [options](const Context& context) { return show_model(*options, context); };
  });

  Command graph = command.add_subcommand("graph", "Print the operations of a training step");
  add_model_options(graph, *options);
  graph.add_option("--batch", options->batch, "samples per step");
  graph.add_option("--precision", options->precision, "auto, f32 or bf16");
  graph.add_flag("--dot", options->dot, "for Graphviz");
  graph.add_flag("--optimised,--optimized", options->optimised, "after the passes");
  graph.add_flag("--compiled", options->compiled, "the kernels that run, with layouts and memory");
  graph.footer(
      "Examples:\n"
      "  syrtos models graph lenet5\n"
      "  syrtos models graph resnet18 --optimised --dot | dot -Tsvg > resnet18.svg");
  graph.callback([options, &run] {
    run = [options](const Context& context) { return print_graph(*options, context); };
  });
}

}  // namespace syrtos::cli

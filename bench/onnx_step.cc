// onnx_step FILE.onnx BATCH.safetensors TO.safetensors RATE STEPS: takes an ONNX file's network and
// weights through steps of plain SGD on one batch ("images", "labels"), for comparison with others.
// Writes the logits of an evaluation, and of the first step the loss and all gradients, then the
// loss of each step.
#include <fmt/format.h>

#include <map>
#include <string>

#include "syrtos/graph/program.h"
#include "syrtos/onnx/network.h"
#include "syrtos/train/network/compiled_network.h"
#include "syrtos/train/network/starting_weights.h"
#include "syrtos/weights/safetensors.h"

namespace {

using namespace syrtos;  // NOLINT(google-build-using-namespace): one function

std::map<std::string, Tensor> read_all(const std::string& file) {
  std::map<std::string, Tensor> tensors;
  weights::SafetensorsFile source(file);
  for (const weights::Entry& entry : source.entries()) {
    tensors.emplace(entry.name, source.read(entry));
  }
  return tensors;
}

void take_step(graph::Parameters& parameters, float rate) {
  for (const graph::ParameterSlot& slot : parameters.slots()) {
    Tensor weights = parameters.get(slot.name);
    const Tensor gradient = parameters.get_gradient(slot.name);
    for (int64_t i = 0; i < weights.elements(); ++i) {
      weights.as<float>()[i] -= rate * gradient.as<float>()[i];
    }
    parameters.set(slot.name, weights);
  }
}

void run(const std::string& file, const std::string& batch, const std::string& to, float rate,
         int64_t steps) {
  const std::map<std::string, Tensor> given = read_all(batch);
  const Tensor& images = given.at("images");
  Tensor labels({DType::s32, given.at("labels").shape()});
  for (int64_t i = 0; i < labels.elements(); ++i) labels.set(i, given.at("labels").get(i));

  const nn::Network network = onnx::load_network(file);
  nn::ModelOptions options = network.default_options();
  options.batch = images.shape()[0];
  options.channels = images.shape()[1];
  options.height = images.shape()[2];
  options.width = images.shape()[3];
  train::CompiledNetwork compiled(network, options, train::CompiledNetwork::Use::both);
  compiled.initialize(1);
  train::StartingWeights weights(file, {}, train::entries_of(compiled.model()));
  train::RunTensors tensors(compiled.parameters(), {});
  for (size_t i = 0; i < tensors.of_network(); ++i) {
    if (const auto found = weights.find(tensors.all()[i])) tensors.set(i, *found);
  }
  fmt::print("{}\n", weights.about());

  graph::Program& evaluation = compiled.evaluation().program();
  evaluation.set_input("images", images);
  evaluation.set_input("labels", labels);
  evaluation.run({});
  std::vector<std::pair<std::string, Tensor>> results;
  results.emplace_back("logits", evaluation.read("logits"));

  graph::Program& training = compiled.training().program();
  std::vector<float> losses;
  for (int64_t step = 0; step < steps; ++step) {
    training.set_input("images", images);
    training.set_input("labels", labels);
    training.run({});
    losses.push_back(training.read_scalar("loss"));
    if (step == 0) {
      for (const graph::ParameterSlot& slot : compiled.parameters().slots()) {
        results.emplace_back("gradient/" + slot.name,
                             compiled.parameters().get_gradient(slot.name));
      }
    }
    take_step(compiled.parameters(), rate);
  }
  results.emplace_back("losses", Tensor::from({steps}, losses));
  std::vector<weights::Entry> entries;
  for (const auto& [name, tensor] : results) entries.push_back({name, tensor.shape()});
  weights::SafetensorsWriter writer(to, entries);
  for (const auto& [name, tensor] : results) writer.write(tensor);
  writer.finish();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    fmt::print(stderr, "onnx_step FILE.onnx BATCH.safetensors TO.safetensors RATE STEPS\n");
    return 2;
  }
  try {
    run(argv[1], argv[2], argv[3], std::stof(argv[4]), std::stoll(argv[5]));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}

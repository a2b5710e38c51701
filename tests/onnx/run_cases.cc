// Runs cases as the onnx package's backend tests store them: a directory with model.onnx, inputs
// input_0.pb ... and the outputs that are expected, output_0.pb ... Reads directories from standard
// input, one a line, and prints for each "ok" or what is wrong.
#include <fmt/format.h>
#include <onnx.pb.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <set>

#include "syrtos/base/error.h"
#include "syrtos/graph/passes.h"
#include "syrtos/graph/program.h"
#include "syrtos/onnx/importer.h"
#include "syrtos/onnx/tensors.h"
#include "syrtos/ops/cpu/backend.h"

namespace syrtos::onnx {
namespace {

namespace fs = std::filesystem;

constexpr double kRelative = 1e-3;  // as the package's own tests
constexpr double kAbsolute = 1e-7;

std::vector<Array> arrays_of(const fs::path& folder, const std::string& kind) {
  std::vector<Array> arrays;
  for (int i = 0;; ++i) {
    const fs::path file = folder / fmt::format("{}_{}.pb", kind, i);
    if (!fs::exists(file)) return arrays;
    std::ifstream in(file, std::ios::binary);
    ::onnx::TensorProto tensor;
    if (!tensor.ParseFromIstream(&in)) fail_request("{}: not a tensor", file.string());
    arrays.push_back(array_of(tensor, file.string()));
  }
}

Tensor tensor_of(const Array& array) {
  std::vector<float> values;
  for (int64_t i = 0; i < array.elements(); ++i) {
    values.push_back(static_cast<float>(array.number(static_cast<size_t>(i))));
  }
  return Tensor::from(Shape(array.shape), values);
}

/// Inputs that a network has as numbers: everything whole, and what says how to compute.
bool is_setting(const Document& document, const std::string& input, const Array& array) {
  if (!array.is_float()) return true;
  static const std::set<std::pair<std::string, size_t>> settings = {
      {"Clip", 1}, {"Clip", 2}, {"Dropout", 1}, {"Resize", 1}, {"Resize", 2}, {"Pad", 2}};
  for (const Node& node : document.nodes) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == input && settings.contains({node.operation, i})) return true;
    }
  }
  return false;
}

std::string difference(const Array& expected, const Shape& shape, const std::vector<float>& found) {
  if (!(Shape(expected.shape) == shape)) {
    return fmt::format("expected [{}], found {}", fmt::join(expected.shape, ", "),
                       to_string(shape));
  }
  for (size_t i = 0; i < found.size(); ++i) {
    const double wanted = expected.number(i);
    const double value = found[i];
    const bool close = std::fabs(value - wanted) <= kAbsolute + kRelative * std::fabs(wanted) ||
                       value == wanted || (std::isnan(value) && std::isnan(wanted));
    if (!close) return fmt::format("element {}: expected {}, found {}", i, wanted, value);
  }
  return {};
}

std::string run_case(const fs::path& folder) {
  const Document document = parse(read_bytes(folder / "model.onnx"), folder.filename().string());
  const std::vector<Array> inputs = arrays_of(folder, "input");
  const std::vector<Array> outputs = arrays_of(folder, "output");
  graph::Graph graph;
  nn::Builder builder(graph, DType::f32, false);
  Importer importer(builder, document, {});
  std::map<std::string, Tensor> given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = document.inputs.at(i).name;
    if (is_setting(document, name, inputs[i])) {
      importer.give(name, inputs[i]);
    } else {
      given.emplace(name, tensor_of(inputs[i]));
      importer.give(name, graph.add_input(name, {DType::f32, Shape(inputs[i].shape)}));
    }
  }
  std::vector<std::string> names;
  for (const Port& port : document.outputs) names.push_back(port.name);
  importer.run(names);
  std::vector<std::string> computed;
  for (size_t i = 0; i < names.size(); ++i) {
    if (const Array* array = importer.known(names[i])) {
      std::string wrong =
          difference(outputs.at(i), Shape(array->shape), tensor_of(*array).to_vector());
      if (!wrong.empty()) return wrong;
      continue;
    }
    computed.push_back(names[i]);
    graph.set_output("out/" + names[i], importer.value(names[i]));
  }
  graph::optimise(graph);
  const auto backend = ops::cpu::make_backend();
  const auto program = graph::compile(graph, *backend, std::make_shared<graph::Parameters>());
  for (const auto& [name, tensor] : given) program->set_input(name, tensor);
  program->run({});
  for (const std::string& name : computed) {
    const auto at = std::find(names.begin(), names.end(), name) - names.begin();
    const Tensor found = program->read("out/" + name);
    std::string wrong =
        difference(outputs.at(static_cast<size_t>(at)), found.shape(), found.to_vector());
    if (!wrong.empty()) return wrong;
  }
  return "ok";
}

}  // namespace
}  // namespace syrtos::onnx

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::string result;
    try {
      result = syrtos::onnx::run_case(line);
    } catch (const std::exception& error) {
      result = error.what();
    }
    std::replace(result.begin(), result.end(), '\n', ' ');
    std::cout << result << std::endl;
  }
}

#include "syrtos/onnx/exporter.h"

#include <fmt/format.h>

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/ops/composed.h"

namespace syrtos::onnx {

using graph::ValueId;
using graph::ValueKind;
using ::onnx::AttributeProto;
using ::onnx::TensorProto;

namespace {

constexpr int64_t kOpset = 17;
constexpr int64_t kIrVersion = 8;

void put(const Tensor& values, TensorProto& to) {
  to.set_data_type(TensorProto::FLOAT);
  for (const int64_t extent : values.shape()) to.add_dims(extent);
  to.set_raw_data(values.data(), static_cast<size_t>(values.elements()) * sizeof(float));
}

void describe(::onnx::ValueInfoProto& info, const std::string& name,
              const std::vector<int64_t>& shape) {
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(TensorProto::FLOAT);
  for (const int64_t extent : shape) {
    auto& dim = *type.mutable_shape()->add_dim();
    if (extent < 0) {
      dim.set_dim_param("batch");
    } else {
      dim.set_dim_value(extent);
    }
  }
}

}  // namespace

Writer find_writer(std::string_view operation) {
  for (const auto* writers :
       {&layer_writers(), &pointwise_writers(), &shape_writers(), &recurrent_writers()}) {
    const auto found = writers->find(operation);
    if (found != writers->end()) return found->second;
  }
  return nullptr;
}

Exporter::Exporter(const graph::Graph& graph, const graph::Graph& other, const Weights& weights)
    : graph_(graph), other_(other), weights_(weights) {
  SYRTOS_CHECK(graph.nodes().size() == other.nodes().size(), "{} and {}", graph.nodes().size(),
               other.nodes().size());
  model_.set_ir_version(kIrVersion);
  model_.set_producer_name("syrtos");
  model_.set_producer_version(SYRTOS_VERSION);
  model_.add_opset_import()->set_version(kOpset);
  model_.mutable_graph()->set_name("network");
}

::onnx::ModelProto Exporter::finish(ValueId images, ValueId result, const std::string& called,
                                    const Metadata& metadata) {
  needed_.insert(result);
  for (auto node = graph_.nodes().rbegin(); node != graph_.nodes().rend(); ++node) {
    const bool used = std::any_of(node->outputs.begin(), node->outputs.end(),
                                  [&](ValueId id) { return needed_.contains(id); });
    if (used) needed_.insert(node->inputs.begin(), node->inputs.end());
  }
  add_weights();  // their names stay what they are
  images_ = images;
  set_name(images, unused("images"));
  describe(*model_.mutable_graph()->add_input(), name(images), open_shape(images));
  const std::string output = unused(called);
  for (size_t i = 0; i < graph_.nodes().size(); ++i) {
    if (needed_.contains(graph_.nodes()[i].outputs[0])) add_node(graph_.nodes()[i], i);
  }
  auto& last = *model_.mutable_graph()->add_node();
  last.set_op_type("Identity");
  last.set_name(output);
  last.add_input(name(result));
  last.add_output(output);
  describe(*model_.mutable_graph()->add_output(), output, open_shape(result));
  leave_out_unused();
  for (const auto& [key, value] : metadata) {
    auto& entry = *model_.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  return std::move(model_);
}

void Exporter::add_weights() {
  for (ValueId id = 0; id < static_cast<ValueId>(graph_.values().size()); ++id) {
    const graph::Value& value = graph_.value(id);
    if (value.kind != ValueKind::parameter && value.kind != ValueKind::state) continue;
    if (!needed_.contains(id)) continue;
    TensorProto& tensor = *model_.mutable_graph()->add_initializer();
    tensor.set_name(value.name);
    put(weights_(value.name), tensor);
    used_.insert(value.name);
    set_name(id, value.name);
  }
}

void Exporter::leave_out_unused() {
  ::onnx::GraphProto& file = *model_.mutable_graph();
  std::set<std::string> asked = {file.output(0).name()};
  std::vector<::onnx::NodeProto> kept;
  for (int i = file.node_size() - 1; i >= 0; --i) {
    const ::onnx::NodeProto& node = file.node(i);
    if (!asked.contains(node.output(0))) continue;
    asked.insert(node.input().begin(), node.input().end());
    kept.push_back(node);
  }
  file.clear_node();
  for (auto node = kept.rbegin(); node != kept.rend(); ++node) *file.add_node() = *node;
}

void Exporter::add_node(const graph::Node& node, size_t index) {
  const Writer writer = find_writer(node.op->name());
  if (writer == nullptr) {
    fail_request("{}: its operation {} has no counterpart in ONNX's operator set {}", node.name,
                 node.op->name(), kOpset);
  }
  layer_ = node.name.empty() ? fmt::format("node{}", index) : node.name;
  set_name(node.outputs[0], writer(*this, node));
}

std::string Exporter::unused(const std::string& wanted) {
  std::string name = wanted;
  for (int count = 1; !used_.insert(name).second; ++count) {
    name = fmt::format("{}_{}", wanted, count);
  }
  return name;
}

std::vector<int64_t> Exporter::open_shape(ValueId value) const {
  const Shape here = graph_.type(value).shape;
  const Shape there = other_.type(value).shape;
  std::vector<int64_t> result;
  int open = 0;
  for (int axis = 0; axis < here.rank(); ++axis) {
    const bool differs = here[axis] != there[axis];
    open += differs ? 1 : 0;
    result.push_back(differs ? -1 : here[axis]);
  }
  if (open > 1) {
    fail_request("{}: the batch is in several axes of {}: this cannot be written for any batch",
                 layer_, to_string(here));
  }
  return result;
}

std::string Exporter::add(std::string_view operation, const std::vector<std::string>& inputs) {
  auto& node = *model_.mutable_graph()->add_node();
  node.set_op_type(std::string(operation));
  for (const std::string& input : inputs) node.add_input(input);
  std::string output = unused(fmt::format("{}/{}", layer_, operation));
  node.set_name(output);
  node.add_output(output);
  return output;
}

bool Exporter::add_bias(ValueId result, const std::string& bias) {
  auto& nodes = *model_.mutable_graph()->mutable_node();
  if (nodes.empty()) return false;
  ::onnx::NodeProto& last = *nodes.Mutable(nodes.size() - 1);
  const bool fits = (last.op_type() == "Conv" || last.op_type() == "Gemm") &&
                    last.input_size() == 2 && last.output(0) == name(result);
  int users = 0;
  for (const graph::Node& node : graph_.nodes()) {
    users += static_cast<int>(std::count(node.inputs.begin(), node.inputs.end(), result));
  }
  if (!fits || users != 1) return false;
  last.add_input(bias);
  return true;
}

namespace {

AttributeProto& attribute(::onnx::ModelProto& model, std::string_view name,
                          AttributeProto::AttributeType type) {
  auto& nodes = *model.mutable_graph()->mutable_node();
  AttributeProto& made = *nodes.Mutable(nodes.size() - 1)->add_attribute();
  made.set_name(std::string(name));
  made.set_type(type);
  return made;
}

}  // namespace

Exporter& Exporter::with(std::string_view name, int64_t value) {
  attribute(model_, name, AttributeProto::INT).set_i(value);
  return *this;
}

Exporter& Exporter::with(std::string_view name, float value) {
  attribute(model_, name, AttributeProto::FLOAT).set_f(value);
  return *this;
}

Exporter& Exporter::with_text(std::string_view name, const std::vector<std::string>& texts,
                              bool is_list) {
  AttributeProto& made =
      attribute(model_, name, is_list ? AttributeProto::STRINGS : AttributeProto::STRING);
  for (const std::string& text : texts) {
    if (is_list) {
      made.add_strings(text);
    } else {
      made.set_s(text);
    }
  }
  return *this;
}

Exporter& Exporter::with(std::string_view name, const std::vector<int64_t>& values) {
  AttributeProto& made = attribute(model_, name, AttributeProto::INTS);
  for (const int64_t value : values) made.add_ints(value);
  return *this;
}

std::string Exporter::batch() {
  const std::string shape = add("Shape", {name(images_)});
  return add("Slice", {shape, integers({0}), integers({1})});
}

// Constants are nodes, so that whoever reads the file again does not take them for weights.
std::string Exporter::integers(const std::vector<int64_t>& values) {
  std::string name = add("Constant", {});
  TensorProto& tensor = *attribute(model_, "value", AttributeProto::TENSOR).mutable_t();
  tensor.set_data_type(TensorProto::INT64);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  for (const int64_t value : values) tensor.add_int64_data(value);
  return name;
}

std::string Exporter::number(float value) { return tensor(Tensor::from({}, {value})); }

std::string Exporter::matrix(int64_t rows, int64_t columns, const std::vector<float>& values) {
  return tensor(Tensor::from({rows, columns}, values));
}

std::string Exporter::tensor(const Tensor& values) {
  std::string name = add("Constant", {});
  put(values, *attribute(model_, "value", AttributeProto::TENSOR).mutable_t());
  return name;
}

namespace {

/// Values that were learnt in another scale, as they are in the data.
ValueId in_units_of_data(nn::Model& model, const nn::Task& task) {
  if (task.mean.empty()) return model.logits;
  const auto row = [&](const std::vector<float>& values) {
    return ops::literal(model.graph,
                        Tensor::from({1, static_cast<int64_t>(values.size())}, values));
  };
  model.graph.set_scope("values");
  const ValueId scaled =
      ops::binary(model.graph, ops::BinaryKind::multiply, model.logits, row(task.deviation));
  return ops::binary(model.graph, ops::BinaryKind::add, scaled, row(task.mean));
}

}  // namespace

void write_network(const std::filesystem::path& file, const nn::Network& network,
                   const nn::ModelOptions& options, const Weights& weights,
                   const Metadata& metadata) {
  nn::ModelOptions evaluated = options;
  evaluated.training = false;
  evaluated.dtype = DType::f32;
  evaluated.batch = 2;
  nn::Model model = network.build(evaluated);
  evaluated.batch = 3;
  nn::Model other = network.build(evaluated);
  const ValueId result = in_units_of_data(model, options.task);
  in_units_of_data(other, options.task);
  Exporter exporter(model.graph, other.graph, weights);
  const std::string bytes =
      exporter
          .finish(model.images, result, options.task.has_values() ? "values" : "logits", metadata)
          .SerializeAsString();
  if (bytes.empty()) {
    fail_request(
        "{}: the network has more than the 2 GB that such a file can hold: export its "
        "weights to .safetensors",
        file.string());
  }
  AtomicFile out(file);
  out.write(bytes);
  out.commit();
}

}  // namespace syrtos::onnx

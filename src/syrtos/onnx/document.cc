#include "syrtos/onnx/document.h"

#include <algorithm>
#include <fstream>
#include <set>

#include "syrtos/base/error.h"
#include "syrtos/onnx/tensors.h"

namespace syrtos::onnx {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::TensorProto;

namespace {

// The operator sets whose rules we know.
constexpr int64_t kOldestOpset = 7;
constexpr int64_t kNewestOpset = 28;
// Bounds for files that want to be large; real networks are far below.
constexpr int kMostNodes = 200000;
constexpr int kMostLinks = 4096;  ///< Inputs, outputs or attributes of one node.
constexpr size_t kMostName = 4096;
constexpr uint64_t kMostBytes = (uint64_t{1} << 31) - 1;
// Floats up to so many elements are known beforehand: scales, limits, epsilons, not weights.
constexpr int64_t kFewElements = 1;

/// Initial states of recurrent layers: numbers, which must be zeros, and no weights.
std::set<std::string_view> states_of(const ::onnx::GraphProto& graph) {
  std::set<std::string_view> names;
  for (const ::onnx::NodeProto& node : graph.node()) {
    const std::string& type = node.op_type();
    if (type != "RNN" && type != "LSTM" && type != "GRU") continue;
    for (int input = 5; input < std::min(7, node.input_size()); ++input) {
      names.insert(node.input(input));
    }
  }
  return names;
}

class Parser {
 public:
  Parser(const ModelProto& model, const std::string& name)
      : model_(model), states_(states_of(model.graph())) {
    document_.name = name;
  }

  Document parse() {
    read_versions();
    const GraphProto& graph = model_.graph();
    if (graph.node_size() > kMostNodes) {
      fail_request("{}: expected at most {} nodes, found {}", document_.name, kMostNodes,
                   graph.node_size());
    }
    if (graph.sparse_initializer_size() > 0) {
      fail_request("{}: it has sparse weights, which are not read: store them densely",
                   document_.name);
    }
    for (const TensorProto& tensor : graph.initializer()) add_initializer(tensor);
    for (const auto& input : graph.input()) {
      if (!document_.initializers.contains(input.name())) {
        document_.inputs.push_back(port(input, "input"));
        define(input.name(), "the graph's inputs");
      }
    }
    for (const auto& node : graph.node()) add_node(node);
    for (const auto& output : graph.output()) {
      document_.outputs.push_back(port(output, "output"));
      if (!defined_.contains(output.name())) {
        fail_request("{}: nothing makes its output '{}': the file is damaged", document_.name,
                     output.name());
      }
    }
    if (document_.outputs.empty()) fail_request("{}: its graph has no output", document_.name);
    return std::move(document_);
  }

 private:
  void read_versions() {
    document_.producer = model_.producer_name();
    if (!model_.producer_version().empty()) document_.producer += " " + model_.producer_version();
    for (const auto& set : model_.opset_import()) {
      if (set.domain().empty() || set.domain() == "ai.onnx") document_.opset = set.version();
    }
    if (document_.opset < kOldestOpset || document_.opset > kNewestOpset) {
      fail_request(
          "{}: expected ONNX's operator set {} to {}, found {}: export it with another opset "
          "version",
          document_.name, kOldestOpset, kNewestOpset, document_.opset);
    }
  }

  std::string checked(const std::string& name, const std::string& where) const {
    if (name.size() <= kMostName) return name;
    fail_request("{}: a name in {} has {} bytes, expected at most {}", document_.name, where,
                 name.size(), kMostName);
  }

  void define(const std::string& name, const std::string& where) {
    if (defined_.insert(checked(name, where)).second) return;
    fail_request("{}: '{}' is there twice, again in {}: the file is damaged", document_.name, name,
                 where);
  }

  void add_initializer(const TensorProto& tensor) {
    const std::string what = fmt::format("{}: weight '{}'", document_.name, tensor.name());
    define(tensor.name(), "the weights");
    Initializer result{shape_of(tensor, what), is_float_type(tensor.data_type(), what)};
    int64_t elements = 1;
    for (const int64_t extent : result.shape) elements *= extent;
    if (!result.is_float || elements <= kFewElements || states_.contains(tensor.name())) {
      // Weights that were left out are sent without values, also where they are few.
      if (!is_external(tensor)) {
        result.values = array_of(tensor, what);
      } else if (!result.is_float) {
        fail_request("{}: expected integers within the file, found external data", what);
      }
    }
    document_.initializers.emplace(tensor.name(), std::move(result));
  }

  Port port(const ::onnx::ValueInfoProto& info, const char* kind) const {
    Port result{.name = checked(info.name(), fmt::format("the graph's {}s", kind))};
    const std::string what = fmt::format("{}: {} '{}'", document_.name, kind, result.name);
    if (!info.type().has_tensor_type()) fail_request("{}: expected a tensor", what);
    const auto& type = info.type().tensor_type();
    result.is_float = is_float_type(type.elem_type(), what);
    result.has_shape = type.has_shape();
    if (type.shape().dim_size() > Shape::kMaxRank) {
      fail_request("{}: expected at most {} axes, found {}", what, Shape::kMaxRank,
                   type.shape().dim_size());
    }
    for (const auto& dim : type.shape().dim()) {
      result.shape.push_back(dim.has_dim_value() && dim.dim_value() > 0 ? dim.dim_value() : -1);
    }
    return result;
  }

  /// Exporters store equal weights once and name the others by Identity: each is a weight of its
  /// own, which training makes different.
  bool is_alias(const ::onnx::NodeProto& from) {
    if (from.op_type() != "Identity" || from.input_size() != 1 || from.output_size() != 1) {
      return false;
    }
    const auto same = document_.initializers.find(from.input(0));
    if (same == document_.initializers.end() || !same->second.is_float) return false;
    define(from.output(0), fmt::format("node {}", from.name()));
    document_.initializers.emplace(from.output(0), same->second);
    return true;
  }

  void add_node(const ::onnx::NodeProto& from) {
    if (is_alias(from)) return;
    Node node;
    const bool own = from.domain().empty() || from.domain() == "ai.onnx";
    node.operation = own ? from.op_type() : from.domain() + "." + from.op_type();
    node.name = checked(from.name(), "its nodes");
    if (node.name.empty()) {
      node.name = fmt::format("{}_{}", from.op_type(), document_.nodes.size());
    }
    if (std::max({from.input_size(), from.output_size(), from.attribute_size()}) > kMostLinks) {
      fail_request("{}: node {} has more than {} inputs, outputs or attributes", document_.name,
                   node.name, kMostLinks);
    }
    for (const std::string& input : from.input()) {
      if (!input.empty() && !defined_.contains(input)) {
        fail_request("{}: node {} uses '{}', which nothing before it makes: the file is damaged",
                     document_.name, node.name, input);
      }
      node.inputs.push_back(input);
    }
    for (const std::string& output : from.output()) {
      if (!output.empty()) define(output, fmt::format("node {}", node.name));
      node.outputs.push_back(output);
    }
    for (const AttributeProto& attribute : from.attribute()) {
      if (auto value = attribute_of(attribute, node)) {
        node.attributes.emplace(attribute.name(), *std::move(value));
      }
    }
    document_.nodes.push_back(std::move(node));
  }

  /// Nothing for attributes that only operators which we lack have, such as graphs.
  std::optional<Attribute> attribute_of(const AttributeProto& from, const Node& node) const {
    switch (from.type()) {
      case AttributeProto::INT:
        return from.i();
      case AttributeProto::FLOAT:
        return from.f();
      case AttributeProto::STRING:
        return from.s();
      case AttributeProto::INTS:
        return std::vector<int64_t>(from.ints().begin(), from.ints().end());
      case AttributeProto::FLOATS:
        return std::vector<float>(from.floats().begin(), from.floats().end());
      case AttributeProto::STRINGS:
        return std::vector<std::string>(from.strings().begin(), from.strings().end());
      case AttributeProto::TENSOR: {
        const std::string what =
            fmt::format("{}: {} of node {}", document_.name, from.name(), node.name);
        if (is_external(from.t())) fail_request("{}: expected its values within the file", what);
        return array_of(from.t(), what);
      }
      case AttributeProto::UNDEFINED:
        fail_request("{}: attribute {} of node {} has no type: the file is damaged", document_.name,
                     from.name(), node.name);
      default:
        return std::nullopt;
    }
  }

  const ModelProto& model_;
  const std::set<std::string_view> states_;
  Document document_;
  std::set<std::string, std::less<>> defined_;
};

}  // namespace

int64_t Array::elements() const {
  return static_cast<int64_t>(is_float() ? floats().size() : integers().size());
}

double Array::number(size_t index) const {
  return is_float() ? floats()[index] : static_cast<double>(integers()[index]);
}

Array Array::of(std::vector<int64_t> list) {
  return {{static_cast<int64_t>(list.size())}, std::move(list)};
}

ModelProto parse_message(std::string_view bytes, const std::string& name) {
  ModelProto model;
  if (bytes.size() > kMostBytes) {
    fail_request("{}: expected at most 2 GB, found {} bytes: store the weights as external data",
                 name, bytes.size());
  }
  if (bytes.empty() || !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    fail_request("{}: not an ONNX file, or truncated: {} bytes could not be read as one", name,
                 bytes.size());
  }
  if (!model.has_graph() || model.opset_import_size() == 0) {
    fail_request(
        "{}: not an ONNX file: expected a graph and the version of its operators, found "
        "neither or one",
        name);
  }
  return model;
}

Document parse(std::string_view bytes, const std::string& name) {
  const ModelProto model = parse_message(bytes, name);
  return Parser(model, name).parse();
}

std::string read_bytes(const std::filesystem::path& file) {
  std::error_code error;
  const bool regular = std::filesystem::is_regular_file(file, error);
  const uint64_t size = regular ? std::filesystem::file_size(file, error) : 0;
  if (!regular || error) {
    fail_request("{}: expected an ONNX file, found {}", file.string(),
                 error ? error.message() : "none");
  }
  if (size > kMostBytes) {
    fail_request("{}: expected at most 2 GB, found {} bytes: store the weights as external data",
                 file.string(), size);
  }
  std::string bytes(size, '\0');
  std::ifstream in(file, std::ios::binary);
  in.read(bytes.data(), static_cast<std::streamsize>(size));
  if (!in) fail_request("{}: cannot be read", file.string());
  return bytes;
}

std::string without_weights(std::string_view bytes, const std::string& name) {
  ModelProto model = parse_message(bytes, name);
  const std::set<std::string_view> states = states_of(model.graph());
  for (TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
    int64_t elements = 1;
    for (const int64_t extent : tensor.dims()) elements *= extent;
    const std::string what = fmt::format("{}: weight '{}'", name, tensor.name());
    if (!is_float_type(tensor.data_type(), what) || elements <= kFewElements) continue;
    if (states.contains(tensor.name())) continue;
    // A place without a location: the values are elsewhere.
    TensorProto alone;
    alone.set_name(tensor.name());
    alone.set_data_type(tensor.data_type());
    *alone.mutable_dims() = tensor.dims();
    alone.set_data_location(TensorProto::EXTERNAL);
    tensor = std::move(alone);
  }
  // What exporters tell of their own sources is most of such a file.
  for (::onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
    node.clear_doc_string();
    node.mutable_unknown_fields()->clear();
  }
  model.mutable_graph()->clear_value_info();
  return model.SerializeAsString();
}

struct WeightsFile::Contents {
  ModelProto model;
  std::map<std::string, const TensorProto*> tensors;
};

WeightsFile::WeightsFile(const std::filesystem::path& file)
    : file_(file), contents_(std::make_unique<Contents>()) {
  contents_->model = parse_message(read_bytes(file), file.string());
  Parser(contents_->model, file.string()).parse();  // all that can be wrong with it
  for (const TensorProto& tensor : contents_->model.graph().initializer()) {
    if (!is_float_type(tensor.data_type(), file.string())) continue;
    names_.push_back(tensor.name());
    contents_->tensors[tensor.name()] = &tensor;
  }
  for (const auto& node : contents_->model.graph().node()) {
    if (node.op_type() != "Identity" || node.input_size() != 1 || node.output_size() != 1) continue;
    const auto same = contents_->tensors.find(node.input(0));
    if (same == contents_->tensors.end()) continue;
    names_.push_back(node.output(0));
    contents_->tensors[node.output(0)] = same->second;
  }
}

WeightsFile::~WeightsFile() = default;

Shape WeightsFile::shape(const std::string& name) const {
  const TensorProto& tensor = *contents_->tensors.at(name);
  return Shape(shape_of(tensor, fmt::format("{}: weight '{}'", file_.string(), name)));
}

Tensor WeightsFile::read(const std::string& name) const {
  return weights_of(*contents_->tensors.at(name), file_.parent_path(),
                    fmt::format("{}: weight '{}'", file_.string(), name));
}

}  // namespace syrtos::onnx

#pragma once

#include <onnx.pb.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/graph/graph.h"
#include "syrtos/onnx/export.h"

// How operations become nodes of a file; for the files that write them.

namespace syrtos::onnx {

/// A file that grows node by node.
class Exporter {
 public:
  /// The same network built for two batch sizes: extents that differ depend on the batch. Both
  /// outlive it.
  Exporter(const graph::Graph& graph, const graph::Graph& other, const Weights& weights);

  /// `result` is called so in the file.
  ::onnx::ModelProto finish(graph::ValueId images, graph::ValueId result, const std::string& called,
                            const Metadata& metadata);

  const graph::Graph& graph() const { return graph_; }
  const std::string& name(graph::ValueId value) const { return names_.at(value); }
  void set_name(graph::ValueId value, std::string name) { names_[value] = std::move(name); }
  Shape shape(graph::ValueId value) const { return graph_.type(value).shape; }
  /// The extents of a value, -1 where the batch is in it. Throws RequestError when it is in
  /// several.
  std::vector<int64_t> open_shape(graph::ValueId value) const;

  /// Adds a node whose outputs get names of their own; returns the first.
  std::string add(std::string_view operation, const std::vector<std::string>& inputs);
  /// Gives the node that was added last one more input, if it is a Conv or Gemm without a bias
  /// whose result nobody but the operation that is being written uses.
  bool add_bias(graph::ValueId result, const std::string& bias);
  /// Attributes of the node that was added last.
  Exporter& with(std::string_view name, int64_t value);
  Exporter& with(std::string_view name, float value);
  Exporter& with(std::string_view name, const std::vector<int64_t>& values);
  /// A text, or a list of them.
  Exporter& with_text(std::string_view name, const std::vector<std::string>& texts, bool is_list);
  /// The size of the batch when it runs, [1].
  std::string batch();
  std::string integers(const std::vector<int64_t>& values);  ///< As a constant; its name.
  std::string number(float value);
  std::string matrix(int64_t rows, int64_t columns, const std::vector<float>& values);
  std::string tensor(const Tensor& values);

 private:
  void add_weights();
  void add_node(const graph::Node& node, size_t index);
  /// Of nodes that became part of others.
  void leave_out_unused();
  std::string unused(const std::string& wanted);

  const graph::Graph& graph_;
  const graph::Graph& other_;
  const Weights& weights_;
  ::onnx::ModelProto model_;
  graph::ValueId images_ = graph::kNone;
  std::map<graph::ValueId, std::string> names_;
  std::set<std::string> used_;
  std::set<graph::ValueId> needed_;
  std::string layer_;
};

/// Writes one operation: the name of its first result. Found by the operation's name.
using Writer = std::string (*)(Exporter& out, const graph::Node& node);
/// nullptr: ONNX has none that we know of.
Writer find_writer(std::string_view operation);

const std::map<std::string_view, Writer>& layer_writers();      ///< With weights or windows.
const std::map<std::string_view, Writer>& pointwise_writers();  ///< Functions of numbers.
const std::map<std::string_view, Writer>& shape_writers();      ///< What moves values.
const std::map<std::string_view, Writer>& recurrent_writers();  ///< Layers of sequences.

}  // namespace syrtos::onnx

#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "syrtos/nn/builder.h"
#include "syrtos/onnx/batch_plan.h"
#include "syrtos/onnx/document.h"

namespace syrtos::onnx {

using nn::ValueId;

/// What a network is built for where the file says something else.
struct Changes {
  std::string head = {};    ///< The kernel of the last layer, whose results are f32.
  std::string result = {};  ///< The value that is wanted.
  /// Weights that have another shape than in the file: those of a new head.
  std::map<std::string, Shape, std::less<>> shapes = {};
};

/// What a weight is for: it decides type, decay and the value that it starts from when it is drawn.
enum class Role {
  conv_kernel,   ///< [out, in / groups, spatial...]
  dense_kernel,  ///< [out, in]
  transposed,    ///< [in, out]
  bias,
  scale,
  other,
};

class Call;

/// Turns the nodes of a file into operations of a graph, in the file's order. What depends only on
/// shapes and constants is computed at once.
class Importer {
 public:
  /// All outlive it. Without a plan the file is built for its own batch, or leaves it open. Throws
  /// RequestError that lists every node whose operator we lack.
  Importer(nn::Builder& builder, const Document& document, Changes changes,
           BatchPlan* batch_plan = nullptr);

  /// Before run(): what an input of the file's graph is.
  void give(const std::string& name, ValueId value);
  void give(const std::string& name, Array numbers);
  /// Adds the nodes on which `outputs` depend. Throws RequestError that names the node.
  void run(const std::vector<std::string>& outputs);
  /// After run(): a value of the file.
  ValueId value(const std::string& name);
  /// Numbers that are known beforehand; nullptr: it is computed.
  const Array* known(const std::string& name) const;

 private:
  friend class Call;

  /// As long as none has been made of that name.
  ValueId weight(const std::string& name, Role role);
  ValueId running(const std::string& name, float start);
  ValueId constant(const std::string& name, const Array& array);
  /// Throws RequestError where it is not one of the file's.
  const Initializer& stored(const std::string& name) const;
  Shape weight_shape(const std::string& name) const;
  void add(const Node& node);
  void count_folded(const Node& node);
  /// Numbers that no later node uses are not kept.
  void forget_after(size_t node);
  /// The nodes that the outputs need; fills used_.
  std::set<const Node*> needed(const std::vector<std::string>& outputs);

  nn::Builder& builder_;
  const Document& document_;
  const Changes changes_;
  BatchPlan* const batch_plan_;
  std::map<std::string, ValueId, std::less<>> values_;
  std::map<std::string, Array, std::less<>> known_;
  int64_t folded_ = 0;                                   // elements that were computed beforehand
  std::map<std::string, size_t, std::less<>> last_use_;  // of names, by node
  std::set<std::string, std::less<>> used_;      // what nodes or the graph's outputs ask for
  std::set<std::string, std::less<>> measured_;  // of what is known, what shapes were asked for
};

/// One node while it is turned into operations: its inputs, attributes and where results go.
class Call {
 public:
  Call(Importer& importer, const Node& node) : importer_(importer), node_(node) {}

  const Node& node() const { return node_; }
  int64_t opset() const { return importer_.document_.opset; }
  const Changes& changes() const { return importer_.changes_; }
  nn::Builder& builder() const { return importer_.builder_; }
  ops::GraphBuilder& graph() const { return importer_.builder_.graph(); }

  size_t inputs() const { return node_.inputs.size(); }
  /// Whether an optional input is there.
  bool has(size_t input) const;
  /// Whether it is a weight of the file that nothing has computed.
  bool is_weight(size_t input) const;
  /// As a value of the graph; a weight or numbers become one.
  ValueId tensor(size_t input, Role role = Role::other) const;
  /// The same in the type that kernels compute in.
  ValueId computed(size_t input, Role role = Role::other) const;
  /// A state of batch norm: it must be a weight of the file.
  ValueId running(size_t input, float start) const;
  /// nullptr: it is computed.
  const Array* known(size_t input) const;
  /// Numbers that must be known. Throws RequestError.
  const Array& numbers(size_t input, std::string_view what) const;
  double one_number(size_t input, std::string_view what) const;
  std::vector<int64_t> integers(size_t input, std::string_view what) const;
  /// Where numbers are a shape for another batch than this; nullptr: they are for this one, as they
  /// are where they were computed from shapes.
  BatchPlan* other_batch(size_t input) const;
  BatchPlan* other_batch() const { return importer_.batch_plan_; }
  /// Of a value or of numbers.
  Shape shape(size_t input) const;

  int64_t integer(std::string_view name, int64_t otherwise) const;
  float number(std::string_view name, float otherwise) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  std::vector<int64_t> integers(std::string_view name, std::vector<int64_t> otherwise) const;
  /// nullptr: the node has none.
  const Attribute* attribute(std::string_view name) const;
  /// An attribute up to some operator set, an input since then; empty where it is left out.
  std::vector<int64_t> attribute_or_input(std::string_view name, size_t input) const;

  /// Of a Split: equal parts, of which the last may be smaller, unless the node says otherwise.
  std::vector<int64_t> split_extents(int64_t extent) const;

  /// The axis counted from the front. Throws RequestError when it is out of range.
  int axis(int64_t axis, int rank) const;

  /// Whether anything asks for a further result.
  bool is_used(size_t output) const;
  void result(ValueId value, size_t output = 0) const;
  void result(Array array, size_t output = 0) const;
  ValueId add(std::shared_ptr<const ops::Op> op, std::initializer_list<ValueId> inputs) const;

  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw RequestError(fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  Importer& importer_;
  const Node& node_;
};

/// Adds what a node means. The tables below hold one for each operator.
using Rule = void (*)(const Call& call);
using Rules = std::map<std::string_view, Rule>;

const Rules& window_rules();     ///< Convolutions and poolings.
const Rules& dense_rules();      ///< Gemm, MatMul.
const Rules& norm_rules();       ///< Normalisations, softmax, dropout.
const Rules& pointwise_rules();  ///< Functions of single numbers, and of two with broadcasting.
const Rules& shape_rules();      ///< What only moves values.
const Rules& resize_rules();     ///< Resize.
const Rules& recurrent_rules();  ///< RNN, LSTM, GRU.
/// nullptr: we lack the operator.
Rule find_rule(std::string_view operation);

/// Computes the node from numbers alone. False: the operator is not one of those that shapes and
/// constants are made with.
bool fold(const Call& call);
/// Whether fold() knows it.
bool folds(std::string_view operation);

}  // namespace syrtos::onnx

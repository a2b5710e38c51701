// Functions of numbers, as nodes.
#include <cmath>
#include <limits>
#include <numbers>

#include "syrtos/base/error.h"
#include "syrtos/onnx/exporter.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/binary.h"
#include "syrtos/ops/pointwise.h"

namespace syrtos::onnx {
namespace {

using graph::Node;

/// One operator that means the same; its names are the index of the tables below.
template <size_t length>
struct Text {
  constexpr Text(const char (&text)[length]) {  // NOLINT(google-explicit-constructor)
    std::copy_n(text, length, letters);
  }
  char letters[length];
};

template <Text operation>
std::string same(Exporter& out, const Node& node) {
  std::vector<std::string> inputs;
  for (const graph::ValueId input : node.inputs) inputs.push_back(out.name(input));
  return out.add(operation.letters, inputs);
}

const ops::Pointwise& pointwise(const Node& node) {
  const auto* op = dynamic_cast<const ops::Pointwise*>(node.op.get());
  SYRTOS_CHECK(op != nullptr, "{}", node.op->name());
  return *op;
}

template <Text operation>
std::string with_alpha(Exporter& out, const Node& node) {
  std::string result = out.add(operation.letters, {out.name(node.inputs[0])});
  out.with("alpha", pointwise(node).alpha);
  return result;
}

std::string hard_sigmoid(Exporter& out, const Node& node) {
  std::string result = out.add("HardSigmoid", {out.name(node.inputs[0])});
  out.with("alpha", pointwise(node).alpha).with("beta", pointwise(node).beta);
  return result;
}

std::string clip(Exporter& out, const Node& node) {
  const ops::Pointwise& op = pointwise(node);
  const std::string low = out.number(op.alpha);
  const std::string high = out.number(op.beta);
  return out.add("Clip", {out.name(node.inputs[0]), low, high});
}

/// x * (1 + erf(x / sqrt(2))) / 2
std::string exact_gelu(Exporter& out, const Node& node) {
  const std::string x = out.name(node.inputs[0]);
  const std::string scaled = out.add("Mul", {x, out.number(1 / std::numbers::sqrt2_v<float>)});
  const std::string shifted = out.add("Add", {out.add("Erf", {scaled}), out.number(1)});
  return out.add("Mul", {out.add("Mul", {x, shifted}), out.number(0.5F)});
}

/// x * sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3))
std::string gelu(Exporter& out, const Node& node) {
  const std::string x = out.name(node.inputs[0]);
  const std::string cube = out.add("Mul", {out.add("Mul", {x, x}), x});
  const std::string sum = out.add("Add", {x, out.add("Mul", {cube, out.number(0.044715F)})});
  const float factor = 2 * std::sqrt(2 / std::numbers::pi_v<float>);
  const std::string gate = out.add("Sigmoid", {out.add("Mul", {sum, out.number(factor)})});
  return out.add("Mul", {x, gate});
}

std::string silu(Exporter& out, const Node& node) {
  const std::string x = out.name(node.inputs[0]);
  return out.add("Mul", {x, out.add("Sigmoid", {x})});
}

std::string scale(Exporter& out, const Node& node) {
  const auto* op = dynamic_cast<const ops::Scale*>(node.op.get());
  SYRTOS_CHECK(op != nullptr, "{}", node.op->name());
  return out.add("Mul", {out.name(node.inputs[0]), out.number(op->factor)});
}

std::string constant(Exporter& out, const Node& node) {
  const auto* op = dynamic_cast<const ops::Constant*>(node.op.get());
  SYRTOS_CHECK(op != nullptr, "{}", node.op->name());
  return out.tensor(
      Tensor::from(op->type.shape,
                   std::vector<float>(static_cast<size_t>(op->type.shape.elements()), op->value)));
}

/// Files are f32 throughout.
std::string cast(Exporter& out, const Node& node) { return out.name(node.inputs[0]); }

}  // namespace

const std::map<std::string_view, Writer>& pointwise_writers() {
  static const std::map<std::string_view, Writer> writers = {
      {"relu", same<"Relu">},
      {"sigmoid", same<"Sigmoid">},
      {"tanh", same<"Tanh">},
      {"negative", same<"Neg">},
      {"absolute", same<"Abs">},
      {"square_root", same<"Sqrt">},
      {"exponential", same<"Exp">},
      {"logarithm", same<"Log">},
      {"erf", same<"Erf">},
      {"reciprocal", same<"Reciprocal">},
      {"softplus", same<"Softplus">},
      {"hard_swish", same<"HardSwish">},
      {"leaky_relu", with_alpha<"LeakyRelu">},
      {"elu", with_alpha<"Elu">},
      {"hard_sigmoid", hard_sigmoid},
      {"clip", clip},
      {"exact_gelu", exact_gelu},
      {"gelu", gelu},
      {"silu", silu},
      {"scale", scale},
      {"constant", constant},
      {"cast", cast},
      {"add", same<"Sum">},
      {"multiply", same<"Mul">},
      {"broadcast_add", same<"Add">},
      {"broadcast_multiply", same<"Mul">},
      {"subtract", same<"Sub">},
      {"divide", same<"Div">},
      {"power", same<"Pow">},
      {"minimum", same<"Min">},
      {"maximum", same<"Max">},
      {"prelu", same<"PRelu">},
  };
  return writers;
}

}  // namespace syrtos::onnx

// Functions of single numbers, and of two values with broadcasting.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "syrtos/onnx/importer.h"
#include "syrtos/ops/activation.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/composed.h"
#include "syrtos/ops/gelu.h"
#include "syrtos/ops/pointwise.h"
#include "syrtos/ops/to_indices.h"

namespace syrtos::onnx {
namespace {

using ops::ActivationKind;
using ops::BinaryKind;
using ops::PointwiseKind;

template <ActivationKind kind>
void activation(const Call& call) {
  call.result(call.add(std::make_shared<ops::Activation>(kind), {call.computed(0)}));
}

void add_pointwise(const Call& call, PointwiseKind kind, float alpha = 0, float beta = 0) {
  call.result(call.add(std::make_shared<ops::Pointwise>(kind, alpha, beta), {call.computed(0)}));
}

template <PointwiseKind kind>
void pointwise(const Call& call) {
  add_pointwise(call, kind);
}

void leaky_relu(const Call& call) {
  add_pointwise(call, PointwiseKind::leaky_relu, call.number("alpha", 0.01F));
}
void elu(const Call& call) { add_pointwise(call, PointwiseKind::elu, call.number("alpha", 1)); }
void hard_sigmoid(const Call& call) {
  add_pointwise(call, PointwiseKind::hard_sigmoid, call.number("alpha", 0.2F),
                call.number("beta", 0.5F));
}

void gelu(const Call& call) {
  if (call.text("approximate", "none") == "tanh") {
    call.result(call.add(std::make_shared<ops::Gelu>(), {call.computed(0)}));
  } else {
    add_pointwise(call, PointwiseKind::exact_gelu);
  }
}

/// Since operator set 11 the limits are inputs.
void clip(const Call& call) {
  constexpr float kMost = std::numeric_limits<float>::max();
  const auto limit = [&](size_t input, std::string_view name, float otherwise) {
    if (!call.has(input)) return call.number(name, otherwise);
    return static_cast<float>(call.one_number(input, "a limit"));
  };
  add_pointwise(call, PointwiseKind::clip, limit(1, "min", -kMost), limit(2, "max", kMost));
}

/// A weight that something is multiplied by starts as 1, one that is added as 0, when it is drawn.
Role role_of(BinaryKind kind, const Call& call, size_t input) {
  // One number is a constant, not a weight.
  if (call.known(input) != nullptr) return Role::other;
  if (call.shape(input).rank() > 1 && call.shape(input).elements() > 4096) return Role::other;
  return kind == BinaryKind::multiply || kind == BinaryKind::divide ? Role::scale : Role::bias;
}

/// The one number that all elements of an input have, if it is known.
std::optional<float> one_number(const Call& call, size_t input) {
  const Array* array = call.known(input);
  if (array == nullptr || array->elements() != 1) return std::nullopt;
  return static_cast<float>(array->number(0));
}

/// Products with one number, and squares, have operations of their own.
bool simple(const Call& call, BinaryKind kind) {
  const std::optional<float> second = one_number(call, 1);
  const std::optional<float> first = one_number(call, 0);
  const auto fits = [&](size_t number, size_t other) {
    return call.shape(number).rank() <= call.shape(other).rank();
  };
  if (kind == BinaryKind::multiply && second && fits(1, 0)) {
    call.result(call.add(std::make_shared<ops::Scale>(*second), {call.computed(0)}));
  } else if (kind == BinaryKind::multiply && first && fits(0, 1)) {
    call.result(call.add(std::make_shared<ops::Scale>(*first), {call.computed(1)}));
  } else if (kind == BinaryKind::divide && second && fits(1, 0)) {
    call.result(call.add(std::make_shared<ops::Scale>(1 / *second), {call.computed(0)}));
  } else if (kind == BinaryKind::power && second == 2.0F && fits(1, 0)) {
    const ValueId x = call.computed(0);
    call.result(call.add(std::make_shared<ops::Multiply>(), {x, x}));
  } else if (kind == BinaryKind::power && second == 0.5F && fits(1, 0)) {
    add_pointwise(call, PointwiseKind::square_root);
  } else {
    return false;
  }
  return true;
}

template <BinaryKind kind>
void binary(const Call& call) {
  if (call.attribute("broadcast") != nullptr || call.attribute("axis") != nullptr) {
    call.fail("broadcasting along a given axis is of operator sets before 7");
  }
  if (simple(call, kind)) return;
  const ValueId a = call.computed(0, role_of(kind, call, 0));
  const ValueId b = call.computed(1, role_of(kind, call, 1));
  call.result(ops::binary(call.graph(), kind, a, b));
}

/// Min, Max and Sum take any number of inputs.
template <BinaryKind kind>
void several(const Call& call) {
  ValueId x = call.computed(0);
  for (size_t i = 1; i < call.inputs(); ++i)
    x = ops::binary(call.graph(), kind, x, call.computed(i));
  call.result(x);
}

void prelu(const Call& call) {
  call.result(ops::binary(call.graph(), BinaryKind::prelu, call.computed(0),
                          call.computed(1, Role::scale)));
}

/// Kernels compute in one type; other float types of the file mean the same. Integers are what
/// chooses rows: samples that are whole numbers.
void cast(const Call& call) {
  constexpr std::array<int64_t, 4> kFloats = {1, 10, 11, 16};
  constexpr std::array<int64_t, 2> kIntegers = {6, 7};
  const int64_t to = call.integer("to", 1);
  const ValueId x = call.tensor(0);
  const bool is_integer = call.builder().type(x).dtype == DType::s32;
  if (std::find(kIntegers.begin(), kIntegers.end(), to) != kIntegers.end()) {
    return call.result(is_integer ? x : call.add(std::make_shared<ops::ToIndices>(), {x}));
  }
  if (std::find(kFloats.begin(), kFloats.end(), to) == kFloats.end()) {
    call.fail(
        "expected a float or integer type for what depends on the images, found element "
        "type {}",
        to);
  }
  if (is_integer) call.fail("integers that depend on the images can only choose rows (Gather)");
  call.result(x);
}

void identity(const Call& call) { call.result(call.tensor(0)); }

}  // namespace

const Rules& pointwise_rules() {
  static const Rules rules = {
      {"Relu", activation<ActivationKind::relu>},
      {"Sigmoid", activation<ActivationKind::sigmoid>},
      {"Tanh", activation<ActivationKind::tanh>},
      {"LeakyRelu", leaky_relu},
      {"PRelu", prelu},
      {"Elu", elu},
      {"HardSigmoid", hard_sigmoid},
      {"HardSwish", pointwise<PointwiseKind::hard_swish>},
      {"Softplus", pointwise<PointwiseKind::softplus>},
      {"Gelu", gelu},
      {"Clip", clip},
      {"Neg", pointwise<PointwiseKind::negative>},
      {"Abs", pointwise<PointwiseKind::absolute>},
      {"Sqrt", pointwise<PointwiseKind::square_root>},
      {"Exp", pointwise<PointwiseKind::exponential>},
      {"Log", pointwise<PointwiseKind::logarithm>},
      {"Erf", pointwise<PointwiseKind::erf>},
      {"Reciprocal", pointwise<PointwiseKind::reciprocal>},
      {"Add", binary<BinaryKind::add>},
      {"Sub", binary<BinaryKind::subtract>},
      {"Mul", binary<BinaryKind::multiply>},
      {"Div", binary<BinaryKind::divide>},
      {"Pow", binary<BinaryKind::power>},
      {"Sum", several<BinaryKind::add>},
      {"Min", several<BinaryKind::minimum>},
      {"Max", several<BinaryKind::maximum>},
      {"Cast", cast},
      {"Identity", identity},
  };
  return rules;
}

}  // namespace syrtos::onnx

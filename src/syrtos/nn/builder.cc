#include "syrtos/nn/builder.h"

#include <algorithm>

#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/cast.h"
#include "syrtos/ops/concat.h"
#include "syrtos/ops/dropout.h"
#include "syrtos/ops/gelu.h"
#include "syrtos/ops/loss.h"
#include "syrtos/ops/reshape.h"
#include "syrtos/ops/slice.h"
#include "syrtos/ops/softmax.h"

namespace syrtos::nn {

Builder::Scope::Scope(Builder& builder, std::string_view name)
    : builder_(builder), length_(builder.prefix_.size()) {
  builder_.prefix_ += name;
  builder_.prefix_ += '.';
}

void Builder::enter(std::string_view name) {
  layer_ = prefix_;
  layer_ += called_.empty() ? name : called_;
  graph_.set_scope(layer_);
}

ValueId Builder::parameter(std::string_view name, const TensorType& type, float decay,
                           Initializer initializer, float rate) {
  initializer.members = members_;
  return add_parameter(fmt::format("{}.{}", owner(), name), type, decay, initializer, rate);
}

ValueId Builder::state(std::string_view name, const Shape& shape, Initializer initializer) {
  initializer.members = members_;
  return add_state(fmt::format("{}.{}", owner(), name), shape, initializer);
}

ValueId Builder::borrowed(std::string_view name, graph::ValueKind kind,
                          const TensorType& type) const {
  for (const ValueId id : graph_.values_of(kind)) {
    if (graph_.value(id).name != name) continue;
    if (graph_.type(id) == type) return id;
    fail_request(
        "expected {} to be {}, as it is used here, found {}: it was made for an input of another "
        "shape",
        name, to_string(type.shape), to_string(graph_.type(id).shape));
  }
  fail_request("expected weights of {} that are called {}, found none", lender_, name);
}

ValueId Builder::parameter_named(std::string name, const TensorType& type, float decay,
                                 const Initializer& initializer, float rate) {
  need_one_network(name);
  return add_parameter(std::move(name), type, decay, initializer, rate);
}

ValueId Builder::state_named(std::string name, const Shape& shape, const Initializer& initializer) {
  need_one_network(name);
  return add_state(std::move(name), shape, initializer);
}

ValueId Builder::add_parameter(std::string name, const TensorType& type, float decay,
                               const Initializer& initializer, float rate) {
  if (!lender_.empty()) return borrowed(name, graph::ValueKind::parameter, type);
  initializers_.push_back({name, initializer});
  return graph_.add_parameter(std::move(name), type, decay, rate);
}

ValueId Builder::add_state(std::string name, const Shape& shape, const Initializer& initializer) {
  if (!lender_.empty()) return borrowed(name, graph::ValueKind::state, {DType::f32, shape});
  initializers_.push_back({name, initializer});
  return graph_.add_state(std::move(name), {DType::f32, shape});
}

ValueId Builder::activation(ValueId x, ops::ActivationKind kind, std::string_view name) {
  enter(name);
  return made_of({x}, graph_.add_one(std::make_shared<ops::Activation>(kind), {x}));
}

ValueId Builder::gelu(ValueId x) {
  enter("gelu");
  return made_of({x}, graph_.add_one(std::make_shared<ops::Gelu>(), {x}));
}

ValueId Builder::softmax(ValueId x) {
  enter("softmax");
  need_one_network("softmax");
  return graph_.add_one(std::make_shared<ops::Softmax>(false), {x});
}

ValueId Builder::dropout(ValueId x, float rate) {
  if (training_ && rate != 0) enter("dropout");
  return drop(x, rate);
}

ValueId Builder::drop(ValueId x, float rate) {
  // Counted also where nothing is added, so that a layer's masks keep their number.
  const uint32_t layer = dropouts_++;
  if (!training_ || rate == 0) return x;
  auto op = std::make_shared<ops::Dropout>();
  op->rate = rate;
  op->layer = layer;
  return made_of({x}, graph_.add_one(std::move(op), {x}));
}

ValueId Builder::concat(const std::vector<ValueId>& parts, int axis) {
  enter("concat");
  const bool divided =
      std::any_of(parts.begin(), parts.end(), [&](ValueId part) { return is_apart(part); });
  auto op = std::make_shared<ops::Concat>();
  op->axis = axis;
  const ValueId result = graph_.add(std::move(op), divided ? by_members(parts, axis) : parts)[0];
  return divided ? apart(result) : result;
}

ValueId Builder::add(ValueId a, ValueId b) {
  enter("add");
  if (is_apart(a) != is_apart(b)) {
    a = spread(a);
    b = spread(b);
  }
  return made_of({a}, graph_.add_one(std::make_shared<ops::Add>(), {a, b}));
}

ValueId Builder::scale(ValueId x, float factor) {
  enter("scale");
  return made_of({x}, graph_.add_one(std::make_shared<ops::Scale>(factor), {x}));
}

ValueId Builder::to_f32(ValueId x) {
  if (graph_.type(x).dtype == DType::f32) return x;
  enter("cast");
  return made_of({x}, graph_.add_one(std::make_shared<ops::Cast>(DType::f32), {x}));
}

ValueId Builder::flatten(ValueId x) {
  const Shape& from = shape(x);
  if (from.rank() == 2) return x;
  enter("flatten");
  auto op = std::make_shared<ops::Reshape>(Shape{from[0], from.elements_from(1)});
  return made_of({x}, graph_.add_one(std::move(op), {x}));
}

ValueId Builder::subsample(ValueId x, int64_t stride) {
  if (stride == 1) return x;
  enter("subsample");
  const Shape& from = shape(x);
  auto op = std::make_shared<ops::Slice>();
  for (int axis = 0; axis < from.rank(); ++axis) {
    const int64_t step = axis < 2 ? 1 : stride;
    op->begin.append(0);
    op->size.append((from[axis] + step - 1) / step);
    op->stride.append(step);
  }
  return made_of({x}, graph_.add_one(std::move(op), {x}));
}

ValueId Builder::pad_channels(ValueId x, int64_t channels) {
  need_one_network("a shortcut with channels of zeros");
  const Shape& from = shape(x);
  const int64_t missing = channels - from[1];
  if (missing == 0) return x;
  SYRTOS_CHECK(missing > 0, "{} channels do not become {}", from[1], channels);
  enter("pad");
  auto op = std::make_shared<ops::Pad>();
  for (int axis = 0; axis < from.rank(); ++axis) {
    op->before.append(0);
    op->after.append(axis == 1 ? missing : 0);
    op->between.append(0);
  }
  return graph_.add_one(std::move(op), {x});
}

ValueId Builder::cross_entropy(ValueId logits, ValueId labels, float smoothing,
                               std::vector<float> class_weights) {
  enter("loss");
  const ValueId log_probabilities = graph_.add_one(std::make_shared<ops::Softmax>(true), {logits});
  auto op = std::make_shared<ops::CrossEntropy>();
  op->smoothing = smoothing;
  op->class_weights = std::move(class_weights);
  return graph_.add_one(std::move(op), {log_probabilities, labels});
}

ValueId Builder::half_squared_error(ValueId prediction, ValueId target) {
  enter("loss");
  return graph_.add_one(std::make_shared<ops::HalfSquaredError>(), {prediction, target});
}

ValueId Builder::element_loss(ops::ElementLossKind kind, ValueId prediction, ValueId target,
                              float delta) {
  enter("loss");
  return graph_.add_one(std::make_shared<ops::ElementLoss>(kind, delta), {prediction, target});
}

}  // namespace syrtos::nn

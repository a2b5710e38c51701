#include "syrtos/onnx/importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/composed.h"

namespace syrtos::onnx {

namespace {

/// Every node whose operator we lack, in one message.
void require_all_known(const Document& document) {
  std::map<std::string, std::vector<std::string>> missing;
  for (const Node& node : document.nodes) {
    if (find_rule(node.operation) == nullptr && !folds(node.operation)) {
      missing[node.operation].push_back(node.name);
    }
  }
  if (missing.empty()) return;
  constexpr size_t kShown = 3;
  std::string text;
  for (const auto& [operation, nodes] : missing) {
    const size_t shown = std::min(kShown, nodes.size());
    const std::vector<std::string> first(nodes.begin(),
                                         nodes.begin() + static_cast<std::ptrdiff_t>(shown));
    text +=
        fmt::format("\n  {} ({}{})", operation, fmt::join(first, ", "),
                    nodes.size() > shown ? fmt::format(" and {} more", nodes.size() - shown) : "");
  }
  fail_request("{}: {} of its operators {} not supported (operator set {}; docs/onnx.md):{}",
               document.name, missing.size(), missing.size() == 1 ? "is" : "are", document.opset,
               text);
}

nn::Initializer start_of(Role role, const Shape& shape) {
  switch (role) {
    case Role::conv_kernel:
    case Role::dense_kernel:
      return nn::Initializer::he_normal();
    case Role::transposed:
      return nn::Initializer::uniform(std::sqrt(6 / static_cast<float>(shape[0])));
    case Role::bias:
      return nn::Initializer::constant(0);
    case Role::scale:
      return nn::Initializer::constant(1);
    case Role::other:
      return nn::Initializer::uniform(0.035F);  // a deviation of 0.02, as of embeddings
  }
  return {};
}

bool is_kernel(Role role) {
  return role == Role::conv_kernel || role == Role::dense_kernel || role == Role::transposed;
}

}  // namespace

Rule find_rule(std::string_view operation) {
  for (const Rules* rules : {&window_rules(), &dense_rules(), &norm_rules(), &pointwise_rules(),
                             &shape_rules(), &resize_rules(), &recurrent_rules()}) {
    const auto found = rules->find(operation);
    if (found != rules->end()) return found->second;
  }
  return nullptr;
}

Importer::Importer(nn::Builder& builder, const Document& document, Changes changes,
                   BatchPlan* batch_plan)
    : builder_(builder),
      document_(document),
      changes_(std::move(changes)),
      batch_plan_(batch_plan) {
  require_all_known(document);
  for (const auto& [name, initializer] : document.initializers) {
    if (initializer.values) known_.emplace(name, *initializer.values);
  }
}

void Importer::give(const std::string& name, ValueId value) {
  if (builder_.shape(value).elements() < 1) {
    fail_request("{}: its input '{}' has no elements: {}", document_.name, name,
                 to_string(builder_.shape(value)));
  }
  values_[name] = value;
}

void Importer::give(const std::string& name, Array numbers) {
  known_.insert_or_assign(name, std::move(numbers));
}

std::set<const Node*> Importer::needed(const std::vector<std::string>& outputs) {
  used_.insert(outputs.begin(), outputs.end());
  std::set<const Node*> nodes;
  for (auto node = document_.nodes.rbegin(); node != document_.nodes.rend(); ++node) {
    const bool used = std::any_of(node->outputs.begin(), node->outputs.end(),
                                  [&](const std::string& name) { return used_.contains(name); });
    if (!used) continue;
    nodes.insert(&*node);
    used_.insert(node->inputs.begin(), node->inputs.end());
  }
  return nodes;
}

void Importer::run(const std::vector<std::string>& outputs) {
  const std::set<const Node*> used = needed(outputs);
  for (size_t n = 0; n < document_.nodes.size(); ++n) {
    for (const std::string& name : document_.nodes[n].inputs) last_use_[name] = n;
  }
  for (const std::string& name : outputs) last_use_.erase(name);
  for (size_t n = 0; n < document_.nodes.size(); ++n) {
    const Node& node = document_.nodes[n];
    if (!used.contains(&node)) continue;
    try {
      add(node);
      forget_after(n);
    } catch (const nn::ImageTooSmall&) {
      throw;  // it says where, and whoever asked looks for a size that fits
    } catch (const RequestError& error) {
      fail_request("{}: node {} ({}): {}", document_.name, node.name, node.operation, error.what());
    }
  }
}

void Importer::add(const Node& node) {
  const Call call(*this, node);
  const bool all_known = std::all_of(node.inputs.begin(), node.inputs.end(), [&](const auto& name) {
    return name.empty() || known_.contains(name);
  });
  const bool asks = node.operation == "Shape" || node.operation == "Size";
  if ((all_known || asks) && fold(call)) {
    const bool measured =
        asks || std::any_of(node.inputs.begin(), node.inputs.end(),
                            [&](const auto& name) { return measured_.contains(name); });
    if (measured) measured_.insert(node.outputs.begin(), node.outputs.end());
    return count_folded(node);
  }
  const Rule rule = find_rule(node.operation);
  if (rule == nullptr) {
    fail_request("it is only supported where its inputs do not depend on the images");
  }
  builder_.enter(node.name);
  rule(call);
  if (batch_plan_ != nullptr) batch_plan_->follow();
}

void Importer::count_folded(const Node& node) {
  // Far above what shapes, masks and tables of positions have together; what stands in the file
  // itself is bounded by that.
  constexpr int64_t kMost = int64_t{1} << 26;
  if (node.operation == "Constant") return;
  for (const std::string& name : node.outputs) {
    if (const Array* array = known(name)) folded_ += array->elements();
  }
  if (folded_ > kMost) {
    fail_request("expected at most {} numbers that are computed from constants, found more", kMost);
  }
}

void Importer::forget_after(size_t node) {
  for (const std::string& name : document_.nodes[node].inputs) {
    const auto last = last_use_.find(name);
    if (last != last_use_.end() && last->second == node) known_.erase(name);
  }
}

const Initializer& Importer::stored(const std::string& name) const {
  const auto found = document_.initializers.find(name);
  if (found != document_.initializers.end()) return found->second;
  fail_request("it uses '{}', a result of a node that is not computed", name);
}

Shape Importer::weight_shape(const std::string& name) const {
  const auto changed = changes_.shapes.find(name);
  const Shape shape = changed != changes_.shapes.end() ? changed->second  //
                                                       : Shape(stored(name).shape);
  // Rules divide by extents; what computes results of no elements is refused where it does.
  if (shape.elements() < 1) {
    fail_request("expected elements in the weight '{}', found the shape {}", name,
                 to_string(shape));
  }
  return shape;
}

ValueId Importer::weight(const std::string& name, Role role) {
  const Shape shape = weight_shape(name);
  if (!stored(name).is_float) {
    fail_request("expected floats in '{}', found integers", name);
  }
  const bool kernel = is_kernel(role);
  const ValueId made = builder_.parameter_named(
      name, {kernel ? builder_.compute_type() : DType::f32, shape},
      kernel || (role == Role::other && shape.rank() > 1) ? 1.0F : 0.0F, start_of(role, shape));
  values_[name] = made;
  return made;
}

ValueId Importer::running(const std::string& name, float start) {
  const ValueId made =
      builder_.state_named(name, weight_shape(name), nn::Initializer::constant(start));
  values_[name] = made;
  return made;
}

ValueId Importer::constant(const std::string& name, const Array& array) {
  if (array.shape.size() > static_cast<size_t>(Shape::kMaxRank)) {
    fail_request("'{}' has {} axes, expected at most {}", name, array.shape.size(),
                 Shape::kMaxRank);
  }
  std::vector<float> values;
  for (int64_t i = 0; i < array.elements(); ++i) {
    values.push_back(static_cast<float>(array.number(static_cast<size_t>(i))));
  }
  if (values.empty()) fail_request("'{}' has no elements", name);
  // One number everywhere is what passes can compute with.
  const bool same =
      std::all_of(values.begin(), values.end(), [&](float value) { return value == values[0]; });
  if (!same) return ops::literal(builder_.graph(), Tensor::from(Shape(array.shape), values));
  auto op = std::make_shared<ops::Constant>();
  op->type = {DType::f32, Shape(array.shape)};
  op->value = values[0];
  return builder_.graph().add_one(std::move(op), {});
}

const Array* Importer::known(const std::string& name) const {
  const auto found = known_.find(name);
  return found == known_.end() ? nullptr : &found->second;
}

ValueId Importer::value(const std::string& name) {
  const auto found = values_.find(name);
  if (found != values_.end()) return found->second;
  const ValueId made =
      known(name) != nullptr ? constant(name, *known(name)) : weight(name, Role::other);
  values_[name] = made;
  return made;
}

}  // namespace syrtos::onnx

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/onnx/importer.h"
#include "syrtos/ops/composed.h"

namespace syrtos::onnx {

bool Call::has(size_t input) const {
  return input < node_.inputs.size() && !node_.inputs[input].empty();
}

bool Call::is_weight(size_t input) const {
  return has(input) && importer_.document_.initializers.contains(node_.inputs[input]);
}

ValueId Call::tensor(size_t input, Role role) const {
  if (!has(input)) fail("its input {} is missing", input + 1);
  const std::string& name = node_.inputs[input];
  const auto found = importer_.values_.find(name);
  if (found != importer_.values_.end()) return found->second;
  // A single number is a weight too where only a weight can stand.
  const bool only_weight = role != Role::other && is_weight(input);
  return only_weight ? importer_.weight(name, role) : importer_.value(name);
}

ValueId Call::computed(size_t input, Role role) const {
  const ValueId value = tensor(input, role);
  const DType wanted = builder().compute_type();
  return ops::cast(graph(), value, wanted);
}

ValueId Call::running(size_t input, float start) const {
  if (!has(input)) fail("its input {} is missing", input + 1);
  const std::string& name = node_.inputs[input];
  const auto found = importer_.values_.find(name);
  if (found != importer_.values_.end()) return found->second;
  if (!is_weight(input)) fail("expected '{}' to be stored in the file, it is computed", name);
  return importer_.running(name, start);
}

const Array* Call::known(size_t input) const {
  return has(input) ? importer_.known(node_.inputs[input]) : nullptr;
}

const Array& Call::numbers(size_t input, std::string_view what) const {
  const Array* array = known(input);
  if (array == nullptr) {
    fail(
        "expected {} that is known before anything runs, found one that depends on the images: "
        "export the network with fixed sizes",
        what);
  }
  return *array;
}

double Call::one_number(size_t input, std::string_view what) const {
  const Array& array = numbers(input, what);
  if (array.elements() != 1) {
    fail("expected {}, one number, found {} of them", what, array.elements());
  }
  return array.number(0);
}

std::vector<int64_t> Call::integers(size_t input, std::string_view what) const {
  const Array& array = numbers(input, what);
  if (!array.is_float()) return array.integers();
  std::vector<int64_t> result;
  for (const double value : array.floats()) result.push_back(std::llround(value));
  return result;
}

BatchPlan* Call::other_batch(size_t input) const {
  const bool measured = has(input) && importer_.measured_.contains(node_.inputs[input]);
  return measured ? nullptr : other_batch();
}

Shape Call::shape(size_t input) const {
  if (!has(input)) fail("its input {} is missing", input + 1);
  const std::string& name = node_.inputs[input];
  if (const Array* array = known(input)) {
    if (array->shape.size() > static_cast<size_t>(Shape::kMaxRank)) {
      fail("'{}' has {} axes, expected at most {}", name, array->shape.size(), Shape::kMaxRank);
    }
    return Shape(array->shape);
  }
  const auto found = importer_.values_.find(name);
  return found != importer_.values_.end() ? builder().shape(found->second)
                                          : importer_.weight_shape(name);
}

const Attribute* Call::attribute(std::string_view name) const {
  const auto found = node_.attributes.find(name);
  return found == node_.attributes.end() ? nullptr : &found->second;
}

namespace {

template <typename T>
T attribute_as(const Call& call, std::string_view name, T otherwise, std::string_view kind) {
  const Attribute* found = call.attribute(name);
  if (found == nullptr) return otherwise;
  if (const T* value = std::get_if<T>(found)) return *value;
  call.fail("expected {} as attribute {}, found something else", kind, name);
}

}  // namespace

int64_t Call::integer(std::string_view name, int64_t otherwise) const {
  return attribute_as(*this, name, otherwise, "a whole number");
}

float Call::number(std::string_view name, float otherwise) const {
  return attribute_as(*this, name, otherwise, "a number");
}

std::string Call::text(std::string_view name, std::string_view otherwise) const {
  return attribute_as(*this, name, std::string(otherwise), "a text");
}

std::vector<int64_t> Call::integers(std::string_view name, std::vector<int64_t> otherwise) const {
  return attribute_as(*this, name, std::move(otherwise), "whole numbers");
}

std::vector<int64_t> Call::attribute_or_input(std::string_view name, size_t input) const {
  if (attribute(name) != nullptr) return integers(name, {});
  return has(input) ? integers(input, name) : std::vector<int64_t>{};
}

std::vector<int64_t> Call::split_extents(int64_t extent) const {
  std::vector<int64_t> extents = attribute_or_input("split", 1);
  const auto parts = static_cast<int64_t>(node_.outputs.size());
  if (extents.empty() && parts > 0) {
    const int64_t each = (extent + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i) extents.push_back(std::min(each, extent - i * each));
  }
  int64_t left = extent;
  for (const int64_t part : extents) {
    if (part < 0 || part > left) {
      fail("expected parts that fill an axis of {}, found [{}]", extent, fmt::join(extents, ", "));
    }
    left -= part;
  }
  if (left != 0) {
    fail("expected parts that fill an axis of {}, found [{}]", extent, fmt::join(extents, ", "));
  }
  return extents;
}

int Call::axis(int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) {
    fail("expected an axis of {} of them, found {}", rank, axis);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

bool Call::is_used(size_t output) const {
  return output < node_.outputs.size() && importer_.used_.contains(node_.outputs[output]) &&
         !node_.outputs[output].empty();
}

void Call::result(ValueId value, size_t output) const {
  if (output < node_.outputs.size()) importer_.values_[node_.outputs[output]] = value;
}

void Call::result(Array array, size_t output) const {
  if (output < node_.outputs.size()) {
    importer_.known_.insert_or_assign(node_.outputs[output], std::move(array));
  }
}

ValueId Call::add(std::shared_ptr<const ops::Op> op, std::initializer_list<ValueId> inputs) const {
  return graph().add_one(std::move(op), inputs);
}

}  // namespace syrtos::onnx

#include "syrtos/graph/parameters.h"

#include <algorithm>
#include <cstring>

#include "syrtos/base/error.h"
#include "syrtos/base/memory.h"

namespace syrtos::graph {

namespace {

void check_plain(std::string_view name, const Shape& expected, const Tensor& plain) {
  if (plain.dtype() != DType::f32 || !(plain.shape() == expected)) {
    fail_request("{}: expected f32{}, found {}", name, to_string(expected),
                 to_string(plain.type()));
  }
}

}  // namespace

void Parameters::share_weights(const Parameters& other) {
  SYRTOS_CHECK(!laid_out_ && other.laid_out_);
  weights_ = other.weights_;
  working_ = other.working_;
  owns_weights_ = false;
}

void Parameters::lay_out(std::vector<ParameterSlot> slots, std::vector<StateSlot> states,
                         bool with_gradients) {
  SYRTOS_CHECK(!laid_out_);
  laid_out_ = true;
  slots_ = std::move(slots);
  states_ = std::move(states);
  bool any_bf16 = false;
  static_assert(kParameterLine * sizeof(BFloat16) % Buffer::kAlignment == 0);
  for (ParameterSlot& slot : slots_) {
    slot.offset = elements_;
    slot.elements = slot.layout.bytes({DType::f32, slot.type.shape}) / sizeof(float);
    elements_ += align_up(slot.elements, kParameterLine);
    any_bf16 = any_bf16 || slot.type.dtype == DType::bf16;
  }
  size_t state_elements = 0;
  for (StateSlot& state : states_) {
    state.offset = state_elements;
    state.elements = static_cast<size_t>(state.type.shape.elements());
    state_elements += align_up(state.elements, kParameterLine);
  }
  const size_t copied = any_bf16 ? elements_ : 0;
  if (owns_weights_) {
    *weights_ = Buffer(elements_ * sizeof(float), "the parameters");
    if (any_bf16) *working_ = Buffer(copied * sizeof(BFloat16), "the bf16 copies of the weights");
  }
  SYRTOS_CHECK(weights().size_bytes() == weights_->size() && working().size() == copied, "{} {}",
               elements_, weights_->size());
  if (with_gradients) gradients_ = Buffer(elements_ * sizeof(float), "the gradients");
  state_ = Buffer(state_elements * sizeof(float), "the running statistics");
}

const ParameterSlot* Parameters::find(std::string_view name) const {
  const auto found = std::find_if(slots_.begin(), slots_.end(),
                                  [&](const ParameterSlot& slot) { return slot.name == name; });
  return found == slots_.end() ? nullptr : &*found;
}

const StateSlot* Parameters::find_state(std::string_view name) const {
  const auto found = std::find_if(states_.begin(), states_.end(),
                                  [&](const StateSlot& state) { return state.name == name; });
  return found == states_.end() ? nullptr : &*found;
}

const ParameterSlot& Parameters::slot(std::string_view name) const {
  const ParameterSlot* found = find(name);
  if (found == nullptr) fail_request("the model has no parameter '{}'", name);
  return *found;
}

const StateSlot& Parameters::state_slot(std::string_view name) const {
  const StateSlot* found = find_state(name);
  if (found == nullptr) fail_request("the model has no state '{}'", name);
  return *found;
}

Tensor Parameters::get(std::string_view name) const {
  const ParameterSlot& s = slot(name);
  Tensor plain({DType::f32, s.type.shape});
  ops::unpack(s.layout, s.type.shape, weights().data() + s.offset, plain.as<float>());
  return plain;
}

Tensor Parameters::get_gradient(std::string_view name) const {
  const ParameterSlot& s = slot(name);
  Tensor plain({DType::f32, s.type.shape});
  ops::unpack(s.layout, s.type.shape, gradients().data() + s.offset, plain.as<float>());
  return plain;
}

void Parameters::set(std::string_view name, const Tensor& plain) {
  const ParameterSlot& s = slot(name);
  check_plain(name, s.type.shape, plain);
  float* packed = weights().data() + s.offset;
  ops::pack(s.layout, s.type.shape, plain.as<float>(), packed);
  if (!working().empty()) {
    BFloat16* copy = working().data() + s.offset;
    for (size_t i = 0; i < s.elements; ++i) copy[i] = BFloat16(packed[i]);
  }
}

Tensor Parameters::get_state(std::string_view name) const {
  const StateSlot& s = state_slot(name);
  Tensor plain({DType::f32, s.type.shape});
  std::memcpy(plain.as<float>(), state().data() + s.offset, s.elements * sizeof(float));
  return plain;
}

void Parameters::set_state(std::string_view name, const Tensor& plain) {
  const StateSlot& s = state_slot(name);
  check_plain(name, s.type.shape, plain);
  std::memcpy(state().data() + s.offset, plain.as<float>(), s.elements * sizeof(float));
}

int64_t Parameters::count() const {
  int64_t total = 0;
  for (const ParameterSlot& slot : slots_) total += slot.type.shape.elements();
  return total;
}

}  // namespace syrtos::graph

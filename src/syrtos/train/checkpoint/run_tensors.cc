#include "syrtos/train/checkpoint/run_tensors.h"

namespace syrtos::train {

RunTensors::RunTensors(graph::Parameters& parameters, std::vector<KeptArena> kept)
    : parameters_(parameters), kept_(std::move(kept)) {
  for (const graph::ParameterSlot& slot : parameters.slots()) {
    all_.push_back({"parameters/" + slot.name, slot.type.shape});
  }
  for (const graph::StateSlot& state : parameters.states()) {
    all_.push_back({"states/" + state.name, state.type.shape});
  }
  for (const KeptArena& arena : kept_) {
    for (const graph::ParameterSlot& slot : parameters.slots()) {
      all_.push_back({"optimizer/" + arena.name + "/" + slot.name, slot.type.shape});
    }
  }
}

Tensor RunTensors::get(size_t index) const {
  const size_t slots = parameters_.slots().size();
  if (index < slots) return parameters_.get(parameters_.slots()[index].name);
  if (index < of_network()) return parameters_.get_state(parameters_.states()[index - slots].name);
  const size_t behind = index - of_network();
  const graph::ParameterSlot& slot = parameters_.slots()[behind % slots];
  Tensor plain({DType::f32, slot.type.shape});
  ops::unpack(slot.layout, slot.type.shape, kept_[behind / slots].values.data() + slot.offset,
              plain.as<float>());
  return plain;
}

void RunTensors::set(size_t index, const Tensor& plain) {
  const size_t slots = parameters_.slots().size();
  if (index < slots) {
    parameters_.set(parameters_.slots()[index].name, plain);
  } else if (index < of_network()) {
    parameters_.set_state(parameters_.states()[index - slots].name, plain);
  } else {
    const size_t behind = index - of_network();
    const graph::ParameterSlot& slot = parameters_.slots()[behind % slots];
    ops::pack(slot.layout, slot.type.shape, plain.as<float>(),
              kept_[behind / slots].values.data() + slot.offset);
  }
}

}  // namespace syrtos::train

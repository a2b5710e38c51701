#include <algorithm>
#include <map>

#include "syrtos/base/error.h"
#include "syrtos/graph/compiler.h"

namespace syrtos::graph {

bool Compiler::in_arena(ValueId root) {
  const ValueState& value = state(root);
  if (value.constant != nullptr) return false;
  return (value.kind == ValueKind::computed && value.parameter == kNone) ||
         value.kind == ValueKind::input;
}

void Compiler::find_lifetimes() {
  const int end = static_cast<int>(program_->items_.size());
  const auto use = [&](ValueId id, int item) {
    ValueState& root = state(state(id).root);
    if (root.first < 0) root.first = item;
    root.last = std::max(root.last, item);
  };
  for (ValueId id = 0; id < static_cast<ValueId>(values_.size()); ++id) {
    if (state(id).kind == ValueKind::input && state(id).root == id) {
      use(id, 0);
      use(id, end);
    }
  }
  // From the first to the last use: what comes is there before any kernel, what leaves after it.
  const auto use_messages = [&](bool arrive) {
    for (const Program::Message& message : program_->messages_) {
      if (message.arrives != arrive) continue;
      const auto item = static_cast<int>(message.item);
      for (const ValueId id : message.values) use(id, arrive ? item : std::max(0, item - 1));
    }
  };
  use_messages(true);
  for (int i = 0; i < end; ++i) {
    const Program::Item& item = program_->items_[static_cast<size_t>(i)];
    // The first half of a kernel may write to its outputs already.
    const bool has_first_half = planned_[static_cast<size_t>(i)].has_first_half;
    for (const ValueId id : item.inputs) use(id, i);
    for (const ValueId id : item.outputs) use(id, has_first_half ? i - 1 : i);
    for (const ValueId id : item.outputs) use(id, i);
  }
  use_messages(false);
  for (const auto& [name, id] : graph_.outputs()) use(id, end);
  const auto backward =
      std::find_if(program_->items_.begin(), program_->items_.end(),
                   [](const Program::Item& item) { return item.phase == Phase::backward; });
  const auto half = static_cast<int>(backward - program_->items_.begin());
  for (ValueState& value : values_) {
    value.stays = (value.first < half && value.last >= half) || value.last == end;
  }
}

// Gives an output its input's memory where the kernel allows it and nobody reads that later.
void Compiler::share_in_place() {
  for (size_t i = 0; i < planned_.size(); ++i) {
    const Program::Item& item = program_->items_[i];
    for (const auto& [output, input] : planned_[i].in_place) {
      const ValueId to = item.outputs[static_cast<size_t>(output)];
      const ValueId from = state(item.inputs[static_cast<size_t>(input)]).root;
      const bool free_after = state(from).last == static_cast<int>(i);
      const bool untouched = state(to).root == to && in_arena(to);
      if (!free_after || !untouched || !in_arena(from) || to == from) continue;
      if (state(from).kind == ValueKind::input) continue;
      if (bytes_of(to) > bytes_of(from)) continue;
      state(from).last = state(to).last;
      state(from).stays = state(from).stays || state(to).stays;
      const ValueId count = static_cast<ValueId>(values_.size());
      for (ValueId id = 0; id < count; ++id) {
        if (state(id).root == to) state(id).root = from;
      }
      break;
    }
  }
}

void Compiler::place() {
  find_lifetimes();
  share_in_place();
  Blocks own;
  Blocks passing;
  std::map<ValueId, std::pair<Blocks*, size_t>> block_of;
  for (ValueId id = 0; id < static_cast<ValueId>(values_.size()); ++id) {
    if (state(id).root != id || !in_arena(id) || state(id).first < 0) continue;
    Blocks& blocks = passing_ == nullptr || state(id).stays ? own : passing;
    block_of[id] = {&blocks, blocks.add(bytes_of(id), state(id).first, state(id).last)};
  }
  Blocks& of_scratch = passing_ == nullptr ? own : passing;
  const size_t scratch_begin = of_scratch.lifetimes.size();
  for (size_t i = 0; i < planned_.size(); ++i) {
    const int item = static_cast<int>(i);
    of_scratch.add(planned_[i].scratch_bytes, planned_[i].has_first_half ? item - 1 : item, item);
  }
  take_memory(own, passing);
  for (size_t i = 0; i < planned_.size(); ++i) {
    const bool needed = planned_[i].scratch_bytes > 0;
    scratch_.push_back(needed ? of_scratch.address(scratch_begin + i) : nullptr);
  }
  for (ValueId id = 0; id < static_cast<ValueId>(values_.size()); ++id) {
    const bool named = id < static_cast<ValueId>(graph_.values().size());
    Program::Placed placed{named ? graph_.value(id).name : "", state(id).type, state(id).layout,
                           nullptr, state(id).root};
    const ValueId root = state(id).root;
    const auto block = block_of.find(root);
    placed.data = block != block_of.end() ? block->second.first->address(block->second.second)
                                          : own_arena_address(root);
    program_->values_.push_back(std::move(placed));
  }
}

void Compiler::take_memory(Blocks& own, Blocks& passing) {
  own.plan = plan_memory(own.lifetimes);
  program_->arena_ = Buffer(own.plan.bytes, "the activations");
  own.memory = program_->arena_.bytes();
  if (passing_ == nullptr) return;
  passing.plan = plan_memory(passing.lifetimes);
  if (*passing_ == nullptr || (*passing_)->size() < passing.plan.bytes) {
    *passing_ = std::make_shared<Buffer>(passing.plan.bytes, "what programs use in turn");
  }
  program_->passing_ = *passing_;
  passing.memory = program_->passing_->bytes();
}

// The address of a literal, a parameter, a final gradient or a state; nullptr for a value nobody
// uses.
void* Compiler::own_arena_address(ValueId root) {
  const ValueState& value = state(root);
  if (value.constant != nullptr) return value.constant;
  if (value.parameter != kNone) {
    const ParameterSlot* slot = parameters().find(graph_.value(value.parameter).name);
    SYRTOS_CHECK(!parameters().gradients().empty(),
                 "compile the training program before those that share its parameters");
    return parameters().gradients().data() + slot->offset +
           graph_.value(value.parameter).first_element();
  }
  if (value.kind == ValueKind::parameter) {
    const ParameterSlot* slot = parameters().find(graph_.value(root).name);
    const size_t first = slot->offset + graph_.value(root).first_element();
    if (value.type.dtype == DType::bf16) return parameters().working().data() + first;
    return parameters().weights().data() + first;
  }
  if (value.kind == ValueKind::state) {
    const StateSlot* slot = parameters().find_state(graph_.value(root).name);
    if (slot == nullptr) fail_request("the model has no state '{}'", graph_.value(root).name);
    return parameters().state().data() + slot->offset;
  }
  return nullptr;
}

void Compiler::bind() {
  for (size_t i = 0; i < program_->items_.size(); ++i) {
    Program::Item& item = program_->items_[i];
    if (item.is_first_half()) continue;  // bound with its second half
    std::vector<void*> inputs;
    std::vector<void*> outputs;
    for (const ValueId id : item.inputs) inputs.push_back(program_->placed(id).data);
    for (const ValueId id : item.outputs) {
      outputs.push_back(program_->placed(id).data);
      if (state(id).parameter == kNone) continue;
      const ParameterSlot* slot = parameters().find(graph_.value(state(id).parameter).name);
      item.finishes.push_back(static_cast<int>(slot - parameters().slots().data()));
    }
    item.kernel->bind(inputs, outputs, scratch_[i]);
  }
  for (ValueId id = 0; id < static_cast<ValueId>(graph_.values().size()); ++id) {
    if (graph_.value(id).kind == ValueKind::input) {
      program_->inputs_.emplace_back(graph_.value(id).name, id);
    }
  }
  program_->outputs_ = graph_.outputs();
}

}  // namespace syrtos::graph

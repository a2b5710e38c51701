// Compilation: from a graph to a program.
//
// 1. Plan. For each node in order the backend says which kernel it would use and in which layouts.
//    Activations lie channels-last from end to end; a parameter takes the layout that its first
//    user wants, and its gradient must come out in the same one. Where a kernel needs another
//    layout, a reorder is inserted, once for each value and layout.
// 2. Place. Values that are alive at the same time get separate memory in one arena; a kernel that
//    can works in place; parameters, gradients and states have their own arenas.
// 3. Bind. Kernels get their addresses, which never change.

#include <algorithm>
#include <map>

#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/base/log.h"
#include "syrtos/base/parallel.h"
#include "syrtos/graph/memory_plan.h"
#include "syrtos/graph/program.h"

namespace syrtos::graph {

using ops::KernelPlan;
using ops::Layout;

class Compiler {
 public:
  Compiler(const Graph& graph, ops::Backend& backend, std::shared_ptr<Parameters> parameters)
      : graph_(graph), backend_(backend), program_(std::make_unique<Program>()) {
    program_->parameters_ = std::move(parameters);
  }

  std::unique_ptr<Program> run() {
    declare_values();
    for (const Node& node : graph_.nodes()) plan_node(node);
    lay_out_parameters();
    place();
    bind();
    return std::move(program_);
  }

 private:
  struct ValueState {
    TensorType type;
    Layout layout = Layout::plain();
    ValueKind kind = ValueKind::computed;
    ValueId root = kNone;       // the value whose memory this one uses
    ValueId parameter = kNone;  // of a final gradient: its parameter
    int first = -1;             // items between which the memory of a root is needed
    int last = -1;
    std::vector<std::pair<Layout, ValueId>> reordered;
  };
  struct PlannedItem {
    size_t scratch_bytes = 0;
    std::vector<std::pair<int, int>> in_place;
    bool has_first_half = false;  // which is the item before
  };

  ValueState& state(ValueId id) { return values_[static_cast<size_t>(id)]; }
  Parameters& parameters() { return *program_->parameters_; }

  ValueId add_value(const TensorType& type, const Layout& layout) {
    ValueState value;
    value.type = type;
    value.layout = layout;
    value.root = static_cast<ValueId>(values_.size());
    values_.push_back(std::move(value));
    return values_.back().root;
  }

  void declare_values() {
    for (const Value& value : graph_.values()) {
      const ValueId id = add_value(value.type, ops::activation_layout(value.type.shape));
      state(id).kind = value.kind;
      if (value.kind == ValueKind::state) state(id).layout = Layout::plain();
      if (value.kind == ValueKind::parameter) {
        const ParameterSlot* slot = parameters().find(value.name);
        if (parameters().laid_out() && slot == nullptr) {
          fail_request("the model's parameters do not include '{}'", value.name);
        }
        state(id).layout = slot != nullptr ? slot->layout : Layout::any();
      }
    }
    for (const ParameterGradient& pair : graph_.gradients()) {
      SYRTOS_CHECK(state(pair.gradient).parameter == kNone, "{} shares its gradient",
                   graph_.value(pair.parameter).name);
      SYRTOS_CHECK(state(pair.gradient).type.dtype == DType::f32, "the gradient of {} is not f32",
                   graph_.value(pair.parameter).name);
      state(pair.gradient).parameter = pair.parameter;
    }
  }

  // The value in the layout that a kernel wants: itself, or a copy made by a reorder.
  ValueId in_layout(ValueId id, const Layout& wanted, const Node& node) {
    if (same_bytes(state(id).layout, wanted, state(id).type)) return id;
    for (const auto& [layout, copy] : state(id).reordered) {
      if (same_bytes(layout, wanted, state(id).type)) return copy;
    }
    const ValueId copy = add_value(state(id).type, wanted);
    add_reorder(id, copy, node);
    state(id).reordered.emplace_back(wanted, copy);
    return copy;
  }

  void add_reorder(ValueId from, ValueId to, const Node& node) {
    KernelPlan plan =
        backend_.reorder(state(from).type, state(from).layout, state(to).type, state(to).layout);
    add_item(std::move(plan), "reorder", node, {from}, {to}, 0);
  }

  void add_item(KernelPlan plan, std::string operation, const Node& node,
                std::vector<ValueId> inputs, std::vector<ValueId> outputs, double flops) {
    Program::Item item;
    item.kernel = std::move(plan.kernel);
    item.operation = std::move(operation);
    item.layer = node.name;
    item.phase = node.phase;
    item.flops = flops;
    item.inputs = std::move(inputs);
    item.outputs = std::move(outputs);
    const bool has_first_half = !item.kernel->sums().empty();
    if (has_first_half) add_first_half(item);
    program_->items_.push_back(std::move(item));
    planned_.push_back({plan.scratch_bytes, std::move(plan.in_place), has_first_half});
  }

  void add_first_half(const Program::Item& whole) {
    Program::Item first = whole;
    first.operation += ".sums";
    first.flops = 0;
    first.outputs.clear();
    first.sums = first.kernel->sums();
    program_->items_.push_back(std::move(first));
    planned_.emplace_back();
  }

  // A reshape costs nothing where the bytes are in plain order already.
  bool plan_view(const Node& node) {
    const ValueId output = node.outputs[0];
    if (!node.op->is_view() || state(output).parameter != kNone) return false;
    if (state(node.inputs[0]).layout.kind == Layout::Kind::any) {
      state(node.inputs[0]).layout = Layout::plain();
    }
    const ValueId source = in_layout(node.inputs[0], Layout::plain(), node);
    state(output).root = state(source).root;
    state(output).kind = state(source).kind;
    state(output).layout = Layout::plain();
    return true;
  }

  void plan_node(const Node& node) {
    if (plan_view(node)) return;
    std::vector<TensorType> input_types;
    std::vector<TensorType> output_types;
    std::vector<Layout> input_layouts;
    std::vector<Layout> output_layouts;
    for (const ValueId id : node.inputs) {
      SYRTOS_CHECK(id != kNone, "[{}] of {} lacks an input", node.op->name(), node.name);
      input_types.push_back(state(id).type);
      input_layouts.push_back(state(id).layout);
    }
    for (const ValueId id : node.outputs) {
      const ValueId parameter = state(id).parameter;
      output_types.push_back(state(id).type);
      output_layouts.push_back(parameter != kNone ? state(parameter).layout : Layout::any());
    }
    KernelPlan plan =
        backend_.plan({*node.op, input_types, output_types, input_layouts, output_layouts});

    std::vector<ValueId> inputs = node.inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ValueId id = inputs[i];
      if (state(id).layout.kind == Layout::Kind::any) state(id).layout = plan.input_layouts[i];
      inputs[i] = in_layout(id, plan.input_layouts[i], node);
    }
    std::vector<ValueId> outputs = node.outputs;
    std::vector<std::pair<ValueId, ValueId>> reorders;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const ValueId id = outputs[i];
      const Layout& wanted = output_layouts[i];
      const bool fits = wanted.kind == Layout::Kind::any ||
                        same_bytes(wanted, plan.output_layouts[i], state(id).type);
      state(id).layout = fits ? plan.output_layouts[i] : wanted;
      if (!fits) {
        outputs[i] = add_value(state(id).type, plan.output_layouts[i]);
        reorders.emplace_back(outputs[i], id);
      }
    }
    const double flops = node.op->flops(input_types, output_types);
    add_item(std::move(plan), std::string(node.op->name()), node, std::move(inputs),
             std::move(outputs), flops);
    for (const auto& [from, to] : reorders) add_reorder(from, to, node);
  }

  void lay_out_parameters() {
    if (parameters().laid_out()) return;
    std::vector<ParameterSlot> slots;
    const auto add_slot = [&](ValueId id) {
      const Value& value = graph_.value(id);
      const bool exists = std::any_of(slots.begin(), slots.end(), [&](const ParameterSlot& slot) {
        return slot.name == value.name;
      });
      if (exists) return;
      Layout layout = state(id).layout;
      if (layout.kind == Layout::Kind::any) layout = Layout::plain();
      slots.push_back({value.name, value.type, layout, 0, 0, value.decay, value.rate});
    };
    for (const Program::Item& item : program_->items_) {
      for (const ValueId id : item.outputs) {
        if (state(id).parameter != kNone) add_slot(state(id).parameter);
      }
    }
    std::vector<StateSlot> states;
    for (ValueId id = 0; id < static_cast<ValueId>(graph_.values().size()); ++id) {
      const Value& value = graph_.value(id);
      if (value.kind == ValueKind::parameter) add_slot(id);
      if (value.kind == ValueKind::state) states.push_back({value.name, value.type, 0, 0});
    }
    parameters().lay_out(std::move(slots), std::move(states), !graph_.gradients().empty());
  }

  bool in_arena(ValueId root) {
    const ValueState& value = state(root);
    return (value.kind == ValueKind::computed && value.parameter == kNone) ||
           value.kind == ValueKind::input;
  }

  void find_lifetimes() {
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
    for (int i = 0; i < end; ++i) {
      const Program::Item& item = program_->items_[static_cast<size_t>(i)];
      // The first half of a kernel may write to its outputs already.
      const bool has_first_half = planned_[static_cast<size_t>(i)].has_first_half;
      for (const ValueId id : item.inputs) use(id, i);
      for (const ValueId id : item.outputs) use(id, has_first_half ? i - 1 : i);
      for (const ValueId id : item.outputs) use(id, i);
    }
    for (const auto& [name, id] : graph_.outputs()) use(id, end);
  }

  // Gives an output its input's memory where the kernel allows it and nobody reads that later.
  void share_in_place() {
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
        const ValueId count = static_cast<ValueId>(values_.size());
        for (ValueId id = 0; id < count; ++id) {
          if (state(id).root == to) state(id).root = from;
        }
        break;
      }
    }
  }

  size_t bytes_of(ValueId id) { return state(id).layout.bytes(state(id).type); }

  void place() {
    find_lifetimes();
    share_in_place();
    std::vector<Lifetime> lifetimes;
    std::map<ValueId, size_t> block_of;
    for (ValueId id = 0; id < static_cast<ValueId>(values_.size()); ++id) {
      if (state(id).root != id || !in_arena(id) || state(id).first < 0) continue;
      block_of[id] = lifetimes.size();
      lifetimes.push_back({bytes_of(id), state(id).first, state(id).last});
    }
    const size_t scratch_begin = lifetimes.size();
    for (size_t i = 0; i < planned_.size(); ++i) {
      const int item = static_cast<int>(i);
      const int first = planned_[i].has_first_half ? item - 1 : item;
      lifetimes.push_back({planned_[i].scratch_bytes, first, item});
    }
    const MemoryPlan plan = plan_memory(lifetimes);
    program_->arena_ = Buffer(plan.bytes, "the activations");
    std::byte* arena = program_->arena_.bytes();
    for (size_t i = 0; i < planned_.size(); ++i) {
      const bool needed = planned_[i].scratch_bytes > 0;
      scratch_.push_back(needed ? arena + plan.offsets[scratch_begin + i] : nullptr);
    }
    for (ValueId id = 0; id < static_cast<ValueId>(values_.size()); ++id) {
      const bool named = id < static_cast<ValueId>(graph_.values().size());
      Program::Placed placed{named ? graph_.value(id).name : "", state(id).type, state(id).layout,
                             nullptr, state(id).root};
      const ValueId root = state(id).root;
      const auto block = block_of.find(root);
      placed.data =
          block != block_of.end() ? arena + plan.offsets[block->second] : own_arena_address(root);
      program_->values_.push_back(std::move(placed));
    }
  }

  // The address of a parameter, a final gradient or a state; nullptr for a value nobody uses.
  void* own_arena_address(ValueId root) {
    const ValueState& value = state(root);
    if (value.parameter != kNone) {
      const ParameterSlot* slot = parameters().find(graph_.value(value.parameter).name);
      SYRTOS_CHECK(!parameters().gradients().empty(),
                   "compile the training program before those that share its parameters");
      return parameters().gradients().data() + slot->offset;
    }
    if (value.kind == ValueKind::parameter) {
      const ParameterSlot* slot = parameters().find(graph_.value(root).name);
      if (value.type.dtype == DType::bf16) return parameters().working().data() + slot->offset;
      return parameters().weights().data() + slot->offset;
    }
    if (value.kind == ValueKind::state) {
      const StateSlot* slot = parameters().find_state(graph_.value(root).name);
      if (slot == nullptr) fail_request("the model has no state '{}'", graph_.value(root).name);
      return parameters().state().data() + slot->offset;
    }
    return nullptr;
  }

  void bind() {
    for (size_t i = 0; i < program_->items_.size(); ++i) {
      Program::Item& item = program_->items_[i];
      if (!item.sums.empty()) continue;  // bound with its second half
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

  const Graph& graph_;
  ops::Backend& backend_;
  std::unique_ptr<Program> program_;
  std::vector<ValueState> values_;
  std::vector<PlannedItem> planned_;
  std::vector<void*> scratch_;
};

std::unique_ptr<Program> compile(const Graph& graph, ops::Backend& backend,
                                 std::shared_ptr<Parameters> parameters) {
  const Clock::time_point begun = Clock::now();
  std::unique_ptr<Program> program = Compiler(graph, backend, std::move(parameters)).run();
  log_info("compiled {} operations to {} kernels in {:.0f} ms: {} of memory, {} threads",
           graph.nodes().size(), program->items().size(), seconds_since(begun) * 1e3,
           format_bytes(static_cast<double>(program->arena_bytes())), thread_count());
  return program;
}

}  // namespace syrtos::graph

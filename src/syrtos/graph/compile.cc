#include <algorithm>
#include <cstring>

#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/base/log.h"
#include "syrtos/base/parallel.h"
#include "syrtos/graph/compiler.h"
#include "syrtos/graph/views.h"
#include "syrtos/ops/literal.h"
#include "syrtos/ops/part_exchange.h"
#include "syrtos/ops/reshape.h"
#include "syrtos/ops/transpose.h"

namespace syrtos::graph {

ValueId Compiler::add_value(const TensorType& type, const Layout& layout) {
  ValueState value;
  value.type = type;
  value.layout = layout;
  value.root = static_cast<ValueId>(values_.size());
  values_.push_back(std::move(value));
  return values_.back().root;
}

void Compiler::declare_values() {
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
      if (value.is_part()) {
        SYRTOS_CHECK(slot == nullptr || slot->layout.kind == Layout::Kind::plain,
                     "{} does not lie row by row", value.name);
        state(id).layout = Layout::plain();
      }
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
ValueId Compiler::in_layout(ValueId id, const Layout& wanted, const Node& node) {
  if (same_bytes(state(id).layout, wanted, state(id).type)) return id;
  for (const auto& [layout, copy] : state(id).reordered) {
    if (same_bytes(layout, wanted, state(id).type)) return copy;
  }
  const bool packed = wanted.kind == Layout::Kind::opaque;
  ValueId copy = kNone;
  if (state(id).constant != nullptr && !packed) {
    copy = copy_of_constant(id, wanted);
  } else {
    copy = add_value(state(id).type, wanted);
    add_reorder(id, copy, node);
  }
  state(id).reordered.emplace_back(wanted, copy);
  return copy;
}

void Compiler::add_reorder(ValueId from, ValueId to, const Node& node) {
  KernelPlan plan =
      backend_.reorder(state(from).type, state(from).layout, state(to).type, state(to).layout);
  add_item(std::move(plan), "reorder", node, {from}, {to}, 0);
}

void Compiler::add_item(KernelPlan plan, std::string operation, const Node& node,
                        std::vector<ValueId> inputs, std::vector<ValueId> outputs, double flops) {
  Program::Item item;
  item.kernel = std::move(plan.kernel);
  item.operation = std::move(operation);
  item.layer = node.name;
  item.phase = node.phase;
  item.flops = flops;
  item.inputs = std::move(inputs);
  item.outputs = std::move(outputs);
  const bool has_first_half = !item.kernel->sums().empty() || item.kernel->blocks() != nullptr;
  if (has_first_half) add_first_half(item);
  program_->items_.push_back(std::move(item));
  planned_.push_back({plan.scratch_bytes, std::move(plan.in_place), has_first_half});
}

void Compiler::add_first_half(const Program::Item& whole) {
  Program::Item first = whole;
  first.operation += first.kernel->blocks() != nullptr ? ".send" : ".sums";
  first.flops = 0;
  first.outputs.clear();
  first.sums = first.kernel->sums();
  first.blocks = first.kernel->blocks();
  program_->items_.push_back(std::move(first));
  planned_.emplace_back();
}

// A reshape or a transposition costs nothing where the result is the bytes of its input.
bool Compiler::plan_view(const Node& node) {
  const auto* reshape = dynamic_cast<const ops::Reshape*>(node.op.get());
  if (reshape == nullptr && dynamic_cast<const ops::Transpose*>(node.op.get()) == nullptr) {
    return false;
  }
  const ValueId output = node.outputs[0];
  if (state(output).parameter != kNone) return false;
  ValueId source = node.inputs[0];
  if (state(source).layout.kind == Layout::Kind::any) state(source).layout = Layout::plain();
  auto layout =
      layout_of_view(*node.op, state(source).type, state(source).layout, state(output).type);
  if (!layout && reshape == nullptr) return false;
  if (!layout) {
    layout = Layout::plain();
    source = in_layout(source, *layout, node);
  }
  state(output).root = state(source).root;
  state(output).kind = state(source).kind;
  state(output).layout = *layout;
  return true;
}

// A literal is written into memory of its own now.
bool Compiler::plan_literal(const Node& node) {
  const auto* literal = dynamic_cast<const ops::Literal*>(node.op.get());
  if (literal == nullptr) return false;
  const ValueId id = node.outputs[0];
  state(id).layout = Layout::plain();
  std::memcpy(make_constant(id), literal->value.data(),
              static_cast<size_t>(literal->value.type().bytes()));
  return true;
}

std::byte* Compiler::make_constant(ValueId id) {
  program_->constants_.emplace_back(bytes_of(id), "the constants");
  state(id).constant = program_->constants_.back().data();
  return program_->constants_.back().bytes();
}

// A copy of a literal in another layout, made once.
ValueId Compiler::copy_of_constant(ValueId id, const Layout& wanted) {
  const auto* from = static_cast<const std::byte*>(state(id).constant);
  const TensorType type = state(id).type;
  const ValueId copy = add_value(type, wanted);
  std::byte* to = make_constant(copy);
  const size_t size = size_of(type.dtype);
  for (int64_t i = 0; i < type.shape.elements(); ++i) {
    const int64_t source = offset_in(state(id).layout, type.shape, i);
    const int64_t target = offset_in(wanted, type.shape, i);
    std::memcpy(to + target * static_cast<int64_t>(size),
                from + source * static_cast<int64_t>(size), size);
  }
  return copy;
}

// What comes from another part is put there before its item, what leaves is taken away after the
// one before. Both lie as activations do, so that all parts agree.
bool Compiler::plan_message(const Node& node) {
  const auto* exchange = dynamic_cast<const ops::PartExchange*>(node.op.get());
  if (exchange == nullptr) return false;
  Program::Message message;
  message.arrives = node.inputs.empty();
  message.peer = exchange->peer;
  message.number = exchange->message;
  message.lane = exchange->lane;
  message.phase = node.phase;
  for (const ValueId id : message.arrives ? node.outputs : node.inputs) {
    const Layout layout = ops::activation_layout(state(id).type.shape);
    if (message.arrives) {
      state(id).layout = layout;
      message.values.push_back(id);
    } else {
      message.values.push_back(in_layout(id, layout, node));
    }
  }
  message.item = program_->items_.size();
  program_->messages_.push_back(std::move(message));
  return true;
}

void Compiler::plan_node(const Node& node) {
  if (plan_view(node) || plan_literal(node) || plan_message(node)) return;
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

void Compiler::add_slot(ValueId id, std::vector<ParameterSlot>& slots) {
  const Value& value = graph_.value(id);
  const bool exists = std::any_of(slots.begin(), slots.end(), [&](const ParameterSlot& slot) {
    return slot.name == value.name;
  });
  if (exists) return;
  Layout layout = state(id).layout;
  if (layout.kind == Layout::Kind::any) layout = Layout::plain();
  slots.push_back({value.name, value.whole_type(), layout, 0, 0, value.decay, value.rate});
}

// In the order in which gradients are finished, of each graph those without one behind them.
void Compiler::lay_out(std::span<Compiler* const> all) {
  std::vector<ParameterSlot> slots;
  std::vector<StateSlot> states;
  bool with_gradients = false;
  for (Compiler* compiler : all) {
    for (const Program::Item& item : compiler->program_->items_) {
      for (const ValueId id : item.outputs) {
        const ValueId parameter = compiler->state(id).parameter;
        if (parameter != kNone) compiler->add_slot(parameter, slots);
      }
    }
    for (const ValueId id : compiler->graph_.values_of(ValueKind::parameter)) {
      if (!compiler->graph_.value(id).frozen()) compiler->add_slot(id, slots);
    }
    with_gradients = with_gradients || !compiler->graph_.gradients().empty();
  }
  for (Compiler* compiler : all) {
    const Graph& graph = compiler->graph_;
    // What is frozen lies behind everything that is trained.
    for (const ValueId id : graph.values_of(ValueKind::parameter)) compiler->add_slot(id, slots);
    for (const ValueId id : graph.values_of(ValueKind::state)) {
      states.push_back({graph.value(id).name, graph.value(id).type, 0, 0});
    }
  }
  all[0]->parameters().lay_out(std::move(slots), std::move(states), with_gradients);
}

std::vector<std::unique_ptr<Program>> compile(std::span<const Graph> graphs, ops::Backend& backend,
                                              const std::shared_ptr<Parameters>& parameters,
                                              std::shared_ptr<Buffer>* passing) {
  const Clock::time_point begun = Clock::now();
  std::vector<std::unique_ptr<Compiler>> compilers;
  std::vector<Compiler*> all;
  for (const Graph& graph : graphs) {
    compilers.push_back(std::make_unique<Compiler>(graph, backend, parameters, passing));
    all.push_back(compilers.back().get());
    all.back()->plan();
  }
  if (!parameters->laid_out()) Compiler::lay_out(all);
  std::vector<std::unique_ptr<Program>> programs;
  size_t operations = 0;
  size_t kernels = 0;
  size_t bytes = 0;
  for (size_t i = 0; i < graphs.size(); ++i) {
    programs.push_back(all[i]->finish());
    operations += graphs[i].nodes().size();
    kernels += programs[i]->items().size();
    bytes += programs[i]->arena_bytes();
  }
  log_info("compiled {} operations to {} kernels in {:.0f} ms: {} of memory, {} threads",
           operations, kernels, seconds_since(begun) * 1e3,
           format_bytes(static_cast<double>(bytes)), thread_count());
  return programs;
}

std::unique_ptr<Program> compile(const Graph& graph, ops::Backend& backend,
                                 std::shared_ptr<Parameters> parameters,
                                 std::shared_ptr<Buffer>* passing) {
  return std::move(compile({&graph, 1}, backend, parameters, passing).front());
}

}  // namespace syrtos::graph

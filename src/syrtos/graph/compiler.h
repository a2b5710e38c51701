#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "syrtos/graph/memory_plan.h"
#include "syrtos/graph/program.h"

namespace syrtos::graph {

using ops::KernelPlan;
using ops::Layout;

// Compilation: from a graph to a program.
//
// 1. Plan (compile.cc). For each node in order the backend says which kernel it would use and in
//    which layouts. Activations lie channels-last from end to end; a parameter takes the layout
//    that its first user wants, and its gradient must come out in the same one. Where a kernel
//    needs another layout, a reorder is inserted, once for each value and layout.
// 2. Place (place.cc). Values that are alive at the same time get separate memory in one arena; a
//    kernel that can works in place; parameters, gradients and states have their own arenas.
// 3. Bind (place.cc). Kernels get their addresses, which never change.
class Compiler {
 public:
  Compiler(const Graph& graph, ops::Backend& backend, std::shared_ptr<Parameters> parameters,
           std::shared_ptr<Buffer>* passing)
      : graph_(graph), backend_(backend), program_(std::make_unique<Program>()), passing_(passing) {
    program_->parameters_ = std::move(parameters);
  }

  void plan() {
    declare_values();
    for (const Node& node : graph_.nodes()) plan_node(node);
  }
  /// Between the two the parameters are laid out: those of all graphs that share them.
  static void lay_out(std::span<Compiler* const> all);
  std::unique_ptr<Program> finish() {
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
    bool stays = false;        // also while other programs run
    void* constant = nullptr;  // the memory of a literal
    std::vector<std::pair<Layout, ValueId>> reordered;
  };
  struct PlannedItem {
    size_t scratch_bytes = 0;
    std::vector<std::pair<int, int>> in_place;
    bool has_first_half = false;  // which is the item before
  };

  /// Values that need memory at the same time as others do.
  struct Blocks {
    std::vector<Lifetime> lifetimes = {};
    MemoryPlan plan = {};
    std::byte* memory = nullptr;

    size_t add(size_t bytes, int first, int last) {
      lifetimes.push_back({bytes, first, last});
      return lifetimes.size() - 1;
    }
    std::byte* address(size_t block) const { return memory + plan.offsets[block]; }
  };

  ValueState& state(ValueId id) { return values_[static_cast<size_t>(id)]; }
  Parameters& parameters() { return *program_->parameters_; }
  size_t bytes_of(ValueId id) { return state(id).layout.bytes(state(id).type); }

  // Plan.
  ValueId add_value(const TensorType& type, const Layout& layout);
  void declare_values();
  ValueId in_layout(ValueId id, const Layout& wanted, const Node& node);
  void add_reorder(ValueId from, ValueId to, const Node& node);
  void add_item(KernelPlan plan, std::string operation, const Node& node,
                std::vector<ValueId> inputs, std::vector<ValueId> outputs, double flops);
  void add_first_half(const Program::Item& whole);
  bool plan_view(const Node& node);
  bool plan_literal(const Node& node);
  std::byte* make_constant(ValueId id);
  ValueId copy_of_constant(ValueId id, const Layout& wanted);
  bool plan_message(const Node& node);
  void plan_node(const Node& node);
  void add_slot(ValueId parameter, std::vector<ParameterSlot>& slots);

  // Place.
  bool in_arena(ValueId root);
  void find_lifetimes();
  void share_in_place();
  void place();
  void take_memory(Blocks& own, Blocks& passing);
  void* own_arena_address(ValueId root);

  void bind();

  const Graph& graph_;
  ops::Backend& backend_;
  std::unique_ptr<Program> program_;
  std::vector<ValueState> values_;
  std::vector<PlannedItem> planned_;
  std::vector<void*> scratch_;
  std::shared_ptr<Buffer>* const passing_;
};

}  // namespace syrtos::graph

#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/graph/graph.h"
#include "syrtos/graph/parameters.h"
#include "syrtos/ops/backend.h"

namespace syrtos::graph {

struct PhaseTimes {
  double forward_s = 0;
  double backward_s = 0;
};

/// Told when each kernel of a program ran, on the thread that runs it.
class ItemObserver {
 public:
  virtual ~ItemObserver() = default;
  virtual void ran(size_t item, Clock::time_point start, Clock::time_point end) = 0;
};

/// A flat list of ready-made kernels on fixed addresses in one arena. Running it allocates nothing
/// and creates nothing. Not thread-safe: one run at a time.
class Program {
 public:
  struct Item {
    std::shared_ptr<ops::Kernel> kernel;  ///< two items share one that has halves
    std::string operation;                ///< "conv", "reorder"
    std::string layer;
    Phase phase = Phase::forward;
    double flops = 0;
    std::vector<ValueId> inputs;
    std::vector<ValueId> outputs;
    std::vector<int> finishes;  ///< slots whose gradient is final after this kernel
    /// Of a kernel's first half, which has no outputs but these: to be added up over all workers
    /// before the next item, which is the second half. Alone there is nothing to add.
    std::span<float> sums;
    /// Of such a first half too: what crosses between workers before the next item.
    const ops::BlockExchange* blocks = nullptr;

    bool is_first_half() const { return !sums.empty() || blocks != nullptr; }
    void run(const ops::Step& step) const {
      is_first_half() ? kernel->run_first(step) : kernel->run(step);
    }
  };
  /// One value after memory planning.
  struct Placed {
    std::string name;
    TensorType type;
    ops::Layout layout;
    void* data = nullptr;
    ValueId root = kNone;  ///< the value whose memory it is: itself, or what it is a view of
  };

  /// Values that come from another part of the network, or leave for it. Whoever runs the program
  /// lets them cross.
  struct Message {
    bool arrives = false;
    int peer = 0;    ///< the other part
    int number = 0;  ///< of those between the two, in this direction
    int lane = 0;    ///< of all that cross in the network: the same on both sides
    Phase phase = Phase::forward;
    /// It is put there before this item runs, or taken away before it does: it is complete then,
    /// and its memory is used for other things afterwards.
    size_t item = 0;
    std::vector<ValueId> values = {};
  };
  size_t bytes_of(const Message& message) const;
  /// Copies what leaves to memory of so many bytes, and what arrived from there.
  void take_away(const Message& message, std::byte* to) const;
  void put(const Message& message, const std::byte* from) const;

  PhaseTimes run(const ops::Step& step);
  /// Items first .. last - 1 alone; adds their times. All of them in order are a run.
  void run_items(size_t first, size_t last, const ops::Step& step, PhaseTimes& times,
                 ItemObserver* observer = nullptr);

  /// Inputs and outputs by name. Tensors are plain; these convert, and allocate nothing.
  void set_input(std::string_view name, const Tensor& plain);
  /// The memory of an input, for whoever fills batches in place, in its type and layout.
  const Placed& input(std::string_view name) const;
  /// Reads an input from memory of the caller's, in the input's type and layout, from now on: so
  /// batches need not be copied. Allocates nothing.
  void move_input(std::string_view name, void* data);
  Tensor read(std::string_view name) const;
  float read_scalar(std::string_view name) const;

  const Parameters& parameters() const { return *parameters_; }
  /// The slots whose weights an item reads.
  std::vector<int> slots_read(const Item& item) const;
  const std::vector<Item>& items() const { return items_; }
  const Placed& placed(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  const std::vector<Message>& messages() const { return messages_; }
  /// Of its own memory.
  size_t arena_bytes() const { return arena_.size(); }
  double flops() const;

  /// Runs once and returns the seconds of each item.
  std::vector<double> profile(const ops::Step& step);
  /// Runs once, looking for infinities and NaN after each kernel: the first item whose output has
  /// one; nullptr when there is none.
  const Item* find_non_finite(const ops::Step& step);
  /// The kernels as an aligned table: phase, layer, operation, implementation, layout, memory.
  std::string to_table() const;

 private:
  friend class Compiler;
  std::shared_ptr<Parameters> parameters_;
  std::vector<Item> items_;
  std::vector<Placed> values_;
  std::vector<std::pair<std::string, ValueId>> inputs_;
  std::vector<std::pair<std::string, ValueId>> outputs_;
  std::vector<Message> messages_;
  Buffer arena_;
  std::shared_ptr<Buffer> passing_;  ///< memory that other programs use too; nullptr: none
  std::vector<Buffer> constants_;    ///< literals, in the layouts that kernels want
};

/// Chooses layouts and kernels for each node in order, inserts reorders where a kernel needs
/// another layout, places values in one arena by liveness, and binds the kernels to it. The graph
/// must have been through optimise() if its operations are to be fused. `parameters` is laid out by
/// the first program and shared by the others.
///
/// With `passing` programs take turns: each may be interrupted between its forward and its backward
/// items, and again before it, while another one runs. What is needed only within one of these
/// halves then lies in this memory, which all of them use. It is made, or replaced by more, here.
std::unique_ptr<Program> compile(const Graph& graph, ops::Backend& backend,
                                 std::shared_ptr<Parameters> parameters,
                                 std::shared_ptr<Buffer>* passing = nullptr);

/// Programs of several graphs, which have different parameters of one model: the gradients of the
/// first graph's lie first.
std::vector<std::unique_ptr<Program>> compile(std::span<const Graph> graphs, ops::Backend& backend,
                                              const std::shared_ptr<Parameters>& parameters,
                                              std::shared_ptr<Buffer>* passing = nullptr);

}  // namespace syrtos::graph

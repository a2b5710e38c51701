#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "syrtos/onnx/batch_places.h"
#include "syrtos/onnx/document.h"

namespace syrtos::onnx {

/// How a file that was exported for one batch size is built for another one: the shapes that it
/// states are those of its own batch, and nothing says where the batch stands in them. That is
/// found by following the samples. Where a batch of one leaves several places open, one is tried
/// after the other: whichever keeps the samples apart computes each as the file does.
class BatchPlan {
 public:
  BatchPlan(int64_t file_batch, int64_t batch) : file_batch_(file_batch), batch_(batch) {}

  /// What attempts are made for: at least two samples.
  int64_t trial_batch() const { return batch_ > 1 ? batch_ : file_batch_; }
  int64_t current_batch() const { return places_ ? trial_batch() : batch_; }
  /// Begins an attempt. The graph, of whatever `images` is [trial_batch, ...] in, outlives it.
  void begin(const graph::Graph& graph, ValueId images);
  /// After an attempt that failed: false when there is no other.
  bool choose_anew();
  /// After one that succeeded: from now on shapes are those of the batch.
  void settle() {
    places_.reset();
    settled_ = true;
  }
  bool is_sought() const { return !settled_; }
  /// Whether a value is [trial_batch, ...] of the attempt's samples, in order.
  bool is_by_sample(ValueId value) const;

  /// Follows the nodes that were added. Throws RequestError where samples are mixed.
  void follow();

  /// The shape to which a node reshapes x; `stated` says it for x as it is in the file's batch.
  Shape reshaped(const Node& node, const graph::Graph& graph, ValueId x,
                 const std::function<Shape(const Shape& x)>& stated);
  /// The shape to which a node repeats x.
  Shape expanded(const Node& node, const graph::Graph& graph, ValueId x, Shape stated);
  /// After it: its result has a copy for each sample where the shape says so.
  void note_copies(const Node& node, ValueId result);
  /// The axis of x that has the batch; -1: none has it.
  int axis_of(const Node& node, ValueId x);
  /// What an extent of that axis is in the file.
  int64_t in_file(int64_t extent) const { return extent / current_batch() * file_batch_; }
  /// The axis along which parts that are the same for all samples are repeated before they are
  /// joined with others; -1: there is none.
  int joined(const Node& node, const graph::Graph& graph, const std::vector<ValueId>& parts);

 private:
  /// Of the result of a node.
  struct Stated {
    Shape shape;    // in the file's batch
    int axis = -1;  // that has the batch
  };
  size_t choose(size_t count);
  Shape shape_of(const Node& node) const;

  int64_t file_batch_;
  int64_t batch_;
  std::map<const Node*, Stated> stated_;
  std::optional<BatchPlaces> places_;  // while it is tried
  bool settled_ = false;

  struct Choice {
    size_t taken = 0;
    size_t of = 1;
  };
  std::vector<Choice> choices_;
  size_t next_choice_ = 0;
  int attempts_ = 0;
};

}  // namespace syrtos::onnx

#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "syrtos/graph/graph.h"

namespace syrtos::onnx {

using graph::ValueId;

/// Where the samples of a batch stand in a value: its extent along `axis` is some multiple of
/// batch * inner, and elements that are `inner` apart along it belong to neighbouring samples.
struct BatchPlace {
  int axis = 0;
  int64_t inner = 1;

  bool operator==(const BatchPlace&) const = default;
};

[[noreturn]] void fail_mixed(std::string_view what, std::string_view where);
/// Elements from one sample to the next in a value of that shape. Reshaping does not change it.
int64_t sample_stride(const Shape& shape, const BatchPlace& place);
/// Where samples with this stride can stand in a shape: nowhere, or, of more than one sample, in
/// one place.
std::vector<BatchPlace> places_within(const Shape& shape, int64_t stride, int64_t batch);

/// Follows the samples of a batch through the operations of a graph. What keeps them apart does
/// with each sample what it does with a batch of one.
class BatchPlaces {
 public:
  /// At least two samples. The graph outlives it.
  BatchPlaces(const graph::Graph& graph, int64_t batch) : graph_(graph), batch_(batch) {}

  void set(ValueId value, BatchPlace place) { places_[value] = place; }
  /// Nothing for what is the same for all samples.
  std::optional<BatchPlace> of(ValueId value) const;
  /// The nodes that were added since the last time. Throws RequestError where samples are mixed.
  void follow();

 private:
  const graph::Graph& graph_;
  const int64_t batch_;
  size_t followed_ = 0;  // nodes
  std::map<ValueId, BatchPlace> places_;
};

}  // namespace syrtos::onnx

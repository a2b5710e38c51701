#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// What crosses between two parts of a network that are graphs of their own. A Send of one part and
/// a Receive of another belong together by the two parts and the number of the message, which
/// counts from 0 for each pair in each direction.
class PartExchange : public Op {
 public:
  int peer = 0;     ///< the other part
  int message = 0;  ///< of those between the two, in this direction
  int lane = 0;     ///< of all that cross in the network: the same on both sides
  std::vector<TensorType> types;

  std::string attributes() const override;
  bool has_side_effects() const override { return true; }
  bool must_run() const override { return true; }
  /// Has none: only both sides together mean something.
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// Values of these types leave for another part.
class Send : public PartExchange {
 public:
  std::string_view name() const override { return "send"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
};

/// They come from there.
class Receive : public PartExchange {
 public:
  std::string_view name() const override { return "receive"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
};

}  // namespace syrtos::ops

#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "syrtos/graph/parameters.h"
#include "syrtos/tensor/tensor.h"

namespace syrtos::train {

/// Values that go with the weights, one for each, and lie as they do: momentum, slow weights.
struct KeptArena {
  std::string name;
  std::span<float> values;
};

/// A tensor by its name in checkpoints: "parameters/conv1.weight".
struct NamedShape {
  std::string key;
  Shape shape;

  bool operator==(const NamedShape&) const = default;
};

/// Where tensors come from when a run begins or goes on.
class TensorSource {
 public:
  virtual ~TensorSource() = default;
  /// Nothing: it stays as it is. Throws RequestError when it should be there and is not.
  virtual std::optional<Tensor> find(const NamedShape& what) = 0;
};

/// Everything that a worker's run has to keep: parameters, running statistics and what the
/// optimiser keeps for each parameter. Tensors are plain copies.
class RunTensors {
 public:
  /// The parameters outlive it.
  RunTensors(graph::Parameters& parameters, std::vector<KeptArena> kept);

  const std::vector<NamedShape>& all() const { return all_; }
  Tensor get(size_t index) const;
  void set(size_t index, const Tensor& plain);
  /// Parameters and running statistics come first: so many.
  size_t of_network() const { return parameters_.slots().size() + parameters_.states().size(); }

 private:
  graph::Parameters& parameters_;
  const std::vector<KeptArena> kept_;
  std::vector<NamedShape> all_;
};

}  // namespace syrtos::train

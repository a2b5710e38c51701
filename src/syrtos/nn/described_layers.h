#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/nn/described_layer.h"

namespace syrtos::nn {

/// The JSON of a description. Throws RequestError that begins with `what`.
nlohmann::json parsed_description(std::string_view text, std::string_view what);

/// A piece of a row that several values share, one behind the other.
struct DescribedPart {
  std::string name;
  Shape shape;  ///< Of a sample, as it was written.
};

/// [{"name": "a", "shape": [3, 8, 8]}, ...]; `what` is said in messages. Throws RequestError.
std::vector<DescribedPart> described_parts(const nlohmann::json& list, std::string_view what);
/// Numbers of a sample in all parts.
int64_t elements_of(const std::vector<DescribedPart>& parts);
/// The parts of rows [batch, ...], each as [batch, its shape]; as layers take them, signals, which
/// are [channels, length], have a height of one.
std::vector<ValueId> take_parts(graph::Graph& graph, ValueId rows,
                                const std::vector<DescribedPart>& parts, bool for_layers);

/// Layers in the order in which they are computed: read, and checked but for shapes.
class DescribedLayers {
 public:
  using Results = std::map<std::string, ValueId, std::less<>>;

  /// `list` outlives it. `title`, "network small", is said in messages; `inputs`: what is there
  /// before the first layer. Throws RequestError.
  DescribedLayers(const nlohmann::json& list, const std::string& title,
                  const std::vector<std::string>& inputs);

  auto begin() const { return layers_.begin(); }
  auto end() const { return layers_.end(); }
  const DescribedLayer& last() const { return layers_.back(); }
  /// nullptr: there is none of this name.
  const DescribedLayer* find(std::string_view name) const;
  /// Adds them all; `results` has the inputs, and then all. `output`: the layer that gives what
  /// the data asks for; nullptr: none.
  void add_to(Builder& builder, const ModelOptions& options, const DescribedLayer* output,
              Results& results) const;

 private:
  std::vector<DescribedLayer> layers_;
};

}  // namespace syrtos::nn

#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/nn/network.h"

// One layer of a described network, for described.cc and the rules of each kind of layer.

namespace syrtos::nn {

/// What was written about a layer: its attributes, each checked when a rule looks it up.
class DescribedLayer {
 public:
  /// `json` outlives it.
  DescribedLayer(const nlohmann::json& json, size_t index);

  const std::string& name() const { return name_; }
  const std::string& op() const { return op_; }
  const std::vector<std::string>& of() const { return of_; }
  /// The layer whose weights it has; empty: it has its own.
  const std::string& lender() const { return lender_; }
  /// Whether everything is the same but the name and what it takes.
  bool is_alike(const DescribedLayer& other) const;
  /// "fc1 (linear)", for messages.
  std::string title() const { return name_ + " (" + op_ + ")"; }

  bool has(std::string_view key) const;
  int64_t integer(std::string_view key, int64_t fallback, int64_t least, int64_t most) const;
  int64_t integer(std::string_view key, int64_t least, int64_t most) const;  ///< It must be there.
  float number(std::string_view key, float fallback) const;
  bool flag(std::string_view key, bool fallback) const;
  /// A list of whole numbers, or one alone; empty if it is not there.
  std::vector<int64_t> integers(std::string_view key, int64_t least, int64_t most) const;
  /// A word of these, the first if it is not there.
  std::string word(std::string_view key, const std::vector<std::string>& known) const;
  /// 3 or [3, 5].
  Extent extent(std::string_view key, const Extent& fallback, int64_t least) const;
  /// "same", "valid", 1 or [1, 2].
  Padding padding() const;
  /// Throws RequestError for an attribute that is not among these, so that a misspelt one does not
  /// go unnoticed.
  void refuse_others(const std::vector<std::string>& known) const;

  [[noreturn]] void fail(const std::string& text) const;

 private:
  const nlohmann::json* find(std::string_view key) const;
  int64_t in_range(const nlohmann::json& value, std::string_view key, int64_t least,
                   int64_t most) const;

  const nlohmann::json& json_;
  std::string name_;
  std::string op_;
  std::vector<std::string> of_;
  std::string lender_;
};

/// Where a layer is added, and what it takes.
struct LayerPlace {
  Builder& builder;
  std::vector<ValueId> inputs;
  const ModelOptions& options;
  bool is_output = false;
};

/// Adds a layer of one kind.
struct LayerRule {
  int least = 1;  ///< Inputs.
  int most = 1;
  std::vector<std::string> attributes = {};
  bool has_weights = false;  ///< which layers of the same kind may have too
  ValueId (*add)(const DescribedLayer& layer, const LayerPlace& place) = nullptr;
};

using LayerRules = std::map<std::string, LayerRule, std::less<>>;

/// By the word that "op" is.
const LayerRules& layer_rules();
/// Those of functions of values: element by element, over axes, of shapes.
LayerRules function_rules();
/// Those with parameters that few networks have.
LayerRules further_rules();
/// Those of sequences.
LayerRules sequence_rules();

/// "[batch, 32, 7, 7]"
std::string shape_text(const Shape& shape);

}  // namespace syrtos::nn

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/nn/builder.h"
#include "syrtos/nn/model.h"

namespace syrtos::nn {

/// How people, job files, checkpoints and other processes refer to a network: its name and what
/// was chosen about it. As text: "resnet34" or "resnet34:shortcut=padded".
struct NetworkReference {
  std::string name;
  std::map<std::string, std::string> choices = {};

  bool operator==(const NetworkReference&) const = default;
};

std::string to_string(const NetworkReference& reference);
/// Throws RequestError for a text that is not of this form. Does not look for the network.
NetworkReference parse_network_reference(std::string_view text);

/// What people read about a network, and the input that its source trains it on.
struct NetworkInfo {
  std::string name;
  std::string description = {};
  int64_t channels = 3;
  int64_t height = 32;
  int64_t width = 32;
  int64_t classes = 10;
  std::string source = {};  ///< The paper.
  /// Samples are whole numbers, such as those of characters, and reach it as they are: those below
  /// this one, or below the number of classes. none: any values.
  enum class Numbers : uint8_t { none, below, below_classes };
  Numbers numbers = Numbers::none;
  int64_t below = 0;
  std::map<std::string, std::string> choices =
      {};  ///< What was chosen about it, for its reference.

  Shape image() const { return {channels, height, width}; }
};

/// A classifier in the middle of a network that only training uses.
struct SideClassifier {
  ValueId logits = graph::kNone;
  float weight = 0;  ///< Of its loss.
  /// The classes of its rows, s32, where they are not the samples'; its loss is cross-entropy.
  ValueId labels = graph::kNone;
};

/// The ends of a network.
struct Heads {
  ValueId logits = graph::kNone;
  std::vector<SideClassifier> sides = {};
  float weight = 1;  ///< Of the loss of the logits; 0: they have none.
  /// Networks side by side, whose losses are learnt as a sum; what is shown is their mean.
  int64_t members = 1;
};

/// Adds the layers of a network, from the images to its logits. The options are complete and in
/// range. It is called once for each program (training, evaluation, another batch size) and must
/// name parameters the same way each time.
using Layers = std::function<Heads(Builder& builder, ValueId images, const ModelOptions& options)>;

/// A network that comes as data: what other processes and run directories need to have it too.
struct NetworkFile {
  enum class Kind { onnx, layers };
  Kind kind = Kind::onnx;
  std::string path;   ///< Of ONNX files: where it was, absolute. Empty for layers.
  std::string bytes;  ///< The file without the values of its weights, or described.h's JSON.

  bool is_onnx() const { return kind == Kind::onnx; }
};

/// A network as a value: whatever trains, measures or evaluates one is given this and builds models
/// of it. Copies are independent; building is safe from several threads when the layers are.
class Network {
 public:
  Network(NetworkInfo info, Layers layers, std::shared_ptr<const NetworkFile> file = nullptr)
      : info_(std::move(info)), layers_(std::move(layers)), file_(std::move(file)) {}

  const NetworkInfo& info() const { return info_; }
  const Layers& layers() const { return layers_; }
  /// What a network of so many classes takes are whole numbers below this; 0: any values.
  int64_t numbers_below(int64_t classes) const;
  NetworkReference reference() const { return {info_.name, info_.choices}; }
  /// Its reference as text: by this name it is recorded and found again.
  std::string name() const { return to_string(reference()); }
  /// nullptr: its name is enough to find it.
  const NetworkFile* file() const { return file_.get(); }

  /// The options with which it has the size that its source gives.
  ModelOptions default_options() const;
  /// The model for these options; channels, height and width of 0 are the network's own. Throws
  /// RequestError for options that it cannot take, such as images that are too small.
  Model build(const ModelOptions& options) const;

 private:
  ModelOptions complete(ModelOptions options) const;
  Model build_complete(const ModelOptions& options) const;
  int64_t smallest_side(ModelOptions options) const;

  NetworkInfo info_;
  Layers layers_;
  std::shared_ptr<const NetworkFile> file_;
};

}  // namespace syrtos::nn

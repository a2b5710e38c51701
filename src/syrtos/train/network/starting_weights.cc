#include "syrtos/train/network/starting_weights.h"

#include <fmt/format.h>

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/onnx/document.h"
#include "syrtos/onnx/network.h"
#include "syrtos/run/directory.h"
#include "syrtos/train/checkpoint/checkpoint.h"
#include "syrtos/weights/match.h"
#include "syrtos/weights/safetensors.h"

namespace syrtos::train {

namespace fs = std::filesystem;

namespace {

class OnnxSource final : public weights::Source {
 public:
  explicit OnnxSource(const fs::path& file) : path_(file.string()), file_(file) {
    for (const std::string& name : file_.names()) entries_.push_back({name, file_.shape(name)});
  }
  std::string name() const override { return path_; }
  const std::vector<weights::Entry>& entries() const override { return entries_; }
  Tensor read(const weights::Entry& entry) override { return file_.read(entry.name); }

 private:
  std::string path_;
  onnx::WeightsFile file_;
  std::vector<weights::Entry> entries_;
};

/// Parameters and states, without what the optimiser kept.
class CheckpointSource final : public weights::Source {
 public:
  explicit CheckpointSource(const fs::path& file) : reader_(file) {
    for (const CheckpointTensor& tensor : reader_.tensors()) {
      for (const std::string_view kind : {"parameters/", "states/"}) {
        if (tensor.name.starts_with(kind)) {
          entries_.push_back({tensor.name.substr(kind.size()), tensor.shape});
          stored_[entries_.back().name] = &tensor;
        }
      }
    }
  }
  std::string name() const override { return reader_.file().string(); }
  const std::vector<weights::Entry>& entries() const override { return entries_; }
  Tensor read(const weights::Entry& entry) override {
    return reader_.read(*stored_.at(entry.name));
  }

 private:
  CheckpointReader reader_;
  std::vector<weights::Entry> entries_;
  std::map<std::string, const CheckpointTensor*> stored_;
};

std::map<std::string, Shape> shapes_of(const nn::Model& model) {
  std::map<std::string, Shape> shapes;
  for (const graph::Value& value : model.graph.values()) {
    const bool kept =
        value.kind == graph::ValueKind::parameter || value.kind == graph::ValueKind::state;
    if (kept) shapes[value.name] = value.type.shape;
  }
  return shapes;
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

}  // namespace

std::unique_ptr<weights::Source> open_weights(const fs::path& path) {
  const std::string extension = path.extension().string();
  if (extension == ".safetensors") return std::make_unique<weights::SafetensorsFile>(path);
  if (onnx::is_onnx_file(path.string())) return std::make_unique<OnnxSource>(path);
  if (extension == ".pt" || extension == ".pth" || extension == ".bin" || extension == ".h5") {
    fail_request(
        "--weights: expected a .safetensors or .onnx file, a run or a checkpoint, found {}: files "
        "of this kind run code when they are read; convert it with safetensors' save_file",
        path.string());
  }
  return std::make_unique<CheckpointSource>(run::find_checkpoint(path));
}

std::set<std::string> head_of(const nn::Network& network, const nn::ModelOptions& options) {
  nn::ModelOptions others = options;
  ++others.classes;
  std::set<std::string> head;
  const std::map<std::string, Shape> other = shapes_of(network.build(others));
  for (const auto& [name, shape] : shapes_of(network.build(options))) {
    if (!(other.at(name) == shape)) head.insert(name);
  }
  return head;
}

StartingWeights::StartingWeights(const fs::path& path, const std::set<std::string>& head,
                                 const std::vector<weights::Entry>& network)
    : source_(open_weights(path)),
      tensors_(network.size()),
      match_(weights::match(network, head, source_->entries(), source_->name())) {}

std::optional<Tensor> StartingWeights::find(const NamedShape& what) {
  for (const std::string_view kind : {"parameters/", "states/"}) {
    if (!what.key.starts_with(kind)) continue;
    const auto taken = match_.taken.find(what.key.substr(kind.size()));
    if (taken == match_.taken.end()) continue;
    const Tensor tensor = source_->read(taken->second);
    return tensor.shape() == what.shape ? tensor : Tensor::from(what.shape, tensor.to_vector());
  }
  return std::nullopt;
}

std::string StartingWeights::about() const {
  std::string text = fmt::format("weights: {} of {} tensors are those of {}", match_.taken.size(),
                                 tensors_, source_->name());
  if (!match_.new_head.empty()) {
    text += fmt::format("; a new head, drawn: {}", fmt::join(match_.new_head, ", "));
  }
  if (!match_.superfluous.empty()) {
    text += fmt::format("; not used: {} of the file, such as {}", match_.superfluous.size(),
                        match_.superfluous[0]);
  }
  return text;
}

std::vector<weights::Entry> entries_of(const nn::Model& model) {
  std::vector<weights::Entry> entries;
  for (const auto& [name, shape] : shapes_of(model)) entries.push_back({name, shape});
  return entries;
}

std::vector<std::string> frozen_names(const std::string& patterns, const nn::Network& network,
                                      const nn::ModelOptions& options) {
  std::vector<std::string> names;
  if (patterns.empty() || patterns == "none") return names;
  const nn::Model model = network.build(options);
  const std::set<std::string> head = head_of(network, options);
  std::vector<std::string> all;
  for (const graph::ValueId id : model.graph.values_of(graph::ValueKind::parameter)) {
    all.push_back(model.graph.value(id).name);
  }
  std::set<std::string> frozen;
  for (const std::string& pattern : parts_of(patterns)) {
    size_t fits = 0;
    for (const std::string& name : all) {
      const bool chosen =
          pattern == "backbone" ? !head.contains(name) : weights::fits_pattern(pattern, name);
      if (chosen) frozen.insert(name);
      fits += chosen ? 1 : 0;
    }
    if (fits == 0) {
      fail_request(
          "--freeze: no parameter of {} fits '{}': expected backbone or a pattern such as "
          "{} for names like {}",
          network.name(), pattern, all[0].substr(0, all[0].find('.')) + ".*", all[0]);
    }
  }
  if (frozen.size() == all.size()) {
    fail_request("--freeze: '{}' leaves nothing to train of {}", patterns, network.name());
  }
  return {frozen.begin(), frozen.end()};
}

}  // namespace syrtos::train

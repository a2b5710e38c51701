#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "syrtos/nn/network.h"
#include "syrtos/train/checkpoint/run_tensors.h"
#include "syrtos/weights/match.h"
#include "syrtos/weights/source.h"

namespace syrtos::train {

/// Weights to start from: a safetensors or ONNX file, a run directory, or a checkpoint of ours.
/// Throws RequestError.
std::unique_ptr<weights::Source> open_weights(const std::filesystem::path& path);

/// The names of parameters and states whose shapes depend on the number of classes.
std::set<std::string> head_of(const nn::Network& network, const nn::ModelOptions& options);

/// Weights of a file that go over those that a network starts with.
class StartingWeights final : public TensorSource {
 public:
  /// `network`: all its parameters and states. Throws RequestError: see weights::match().
  StartingWeights(const std::filesystem::path& path, const std::set<std::string>& head,
                  const std::vector<weights::Entry>& network);

  std::optional<Tensor> find(const NamedShape& what) override;
  /// What was taken and what not, in one line.
  std::string about() const;

 private:
  const std::unique_ptr<weights::Source> source_;
  const size_t tensors_;
  const weights::Match match_;
};

/// Parameters and states of a model.
std::vector<weights::Entry> entries_of(const nn::Model& model);

/// The parameters that patterns mean: names with * and ?, separated by commas; "backbone": all but
/// the head. Throws RequestError when one fits nothing, or when nothing would be left to train.
std::vector<std::string> frozen_names(const std::string& patterns, const nn::Network& network,
                                      const nn::ModelOptions& options);

}  // namespace syrtos::train

#pragma once

#include <memory>
#include <span>

#include "syrtos/data/pipeline/loader.h"
#include "syrtos/graph/program.h"
#include "syrtos/nn/task.h"

namespace syrtos::train {

/// One compiled program of a network, or of a piece of it, and where a batch goes in and its
/// results come out.
class NetworkProgram {
 public:
  /// `batch`: the samples that it takes.
  NetworkProgram(const graph::Graph& graph, std::unique_ptr<graph::Program> program, nn::Task task,
                 int64_t batch);

  graph::Program& program() { return *program_; }
  const graph::Program& program() const { return *program_; }
  int64_t batch() const { return batch_; }
  /// Of each sample: scores of classes or labels, or values.
  int64_t outputs() const { return outputs_; }
  const nn::Task& task() const { return task_; }
  /// Whether it reads images, and whether it has logits and a loss: the whole network does both.
  bool has_images() const { return sample_bytes_ > 0; }
  bool has_results() const { return logits_ != nullptr; }
  /// Of the images it takes.
  DType dtype() const { return program_->input("images").type.dtype; }
  /// The next run is on this batch, where it is; its targets, if it has some, are copied.
  void use(const data::Batch& batch);
  /// The same with `count` samples of it, from its `first` on.
  void use(const data::Batch& batch, int64_t first, int64_t count);
  /// The next runs are on the program's own memory for one batch of images.
  void* use_own_images();
  /// [batch, outputs] of the last run.
  std::span<const float> logits() const;
  float loss() const { return program_->read_scalar("loss"); }

 private:
  void put_targets(std::span<const float> targets);

  std::unique_ptr<graph::Program> program_;
  nn::Task task_;
  int64_t batch_ = 0;
  int64_t outputs_ = 0;
  const float* logits_ = nullptr;
  void* own_images_ = nullptr;
  size_t sample_bytes_ = 0;
  void* targets_ = nullptr;  // numbers of classes, or floats; null: it has no loss
  size_t target_values_ = 1;
};

}  // namespace syrtos::train

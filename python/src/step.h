#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <string>
#include <vector>

#include "arrays.h"
#include "group.h"
#include "request.h"
#include "syrtos/graph/pass_parts.h"
#include "syrtos/optim/optimizer.h"
#include "syrtos/train/network/compiled_network.h"

namespace syrtos::python {

/// A training step for loops of one's own: a compiled network and its optimiser. Not thread-safe.
class PyStep {
 public:
  /// Of the keywords those count that a step knows: batch, classes, precision, threads, seed,
  /// optimizer and its numbers, lr, weight_decay, loss, class_weights, label_smoothing.
  /// `group`: gradients are means over its workers, and all start from the weights of rank 0; it
  /// outlives this. nullptr: alone.
  PyStep(const nn::Network& network, const std::vector<int64_t>& input, const Keywords& keywords,
         PyGroup* group);

  /// One step on a batch: `images` is [batch, channels, height, width] of f32 with any strides.
  /// Returns the loss. With update = false only gradients are computed.
  /// `targets`: labels, s32 [batch], or what else the loss compares with, f32 [batch, outputs].
  float run(const AnyArray& images, const AnyArray& targets, bool update);
  /// Changes the weights by the gradients there are.
  void update();

  double learning_rate() const { return hyper_.learning_rate; }
  void set_learning_rate(double rate) { hyper_.learning_rate = rate; }
  int64_t steps() const { return hyper_.step; }
  /// As [batch, channels, height, width] and classes: what run() takes.
  std::vector<int64_t> input() const;
  int64_t classes() const { return options_.classes; }
  bool has_classes() const { return options_.task.has_classes(); }
  std::string precision() const { return to_string(options_.dtype); }

  std::vector<std::string> names() const;
  std::vector<std::string> state_names() const;
  /// A copy in plain order.
  nanobind::ndarray<nanobind::numpy, float> get(const std::string& name, const std::string& what);
  void set(const std::string& name,
           const nanobind::ndarray<const float, nanobind::c_contig, nanobind::device::cpu>& values);
  nanobind::ndarray<nanobind::numpy, float> logits() const;

 private:
  void take(const AnyArray& images);
  void prepare(const nn::Network& network, const job::Job& job);
  float compute(const AnyArray& images, const AnyArray& targets, bool update);
  /// A pass in which gradients cross while others are computed; they are means then.
  void run_together();
  void divide_gradients();
  /// Refuses workers whose weights lie otherwise.
  void start_alike();

  nn::ModelOptions options_;
  int threads_ = 1;
  std::unique_ptr<train::CompiledNetwork> network_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::vector<optim::Segment> segments_;
  optim::Hyper hyper_;
  uint64_t seed_ = 1;
  PyGroup* group_ = nullptr;
  // Of a group: parts of the pass, and the gradients that are final after them, by bucket.
  std::vector<graph::PassPart> parts_;
  std::vector<std::span<float>> buckets_;
};

}  // namespace syrtos::python

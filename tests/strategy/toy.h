#pragma once

// A model small enough to follow by hand: its gradient at worker k is the distance of the weights
// from a goal of that worker, so sequential training on all goals is one line.

#include <cstring>
#include <vector>

#include "syrtos/strategy/replica.h"
#include "syrtos/strategy/servers/server.h"
#include "syrtos/strategy/strategy.h"

namespace syrtos::strategy {

inline Layout toy_layout(const std::vector<size_t>& tensors, size_t bucket_bytes) {
  Layout layout;
  size_t offset = 0;
  for (const size_t elements : tensors) {
    layout.tensors.push_back({offset, elements, 1, 1});
    offset += (elements + 15) / 16 * 16;  // as in graph::Parameters
  }
  layout.buckets = plan_buckets(layout.tensors, bucket_bytes);
  return layout;
}

class ToyReplica : public Replica {
 public:
  /// `worker`: whose goal it has. Without `data` it has sizes only.
  ToyReplica(Layout layout, const optim::OptimizerOptions& optimizer, int worker, bool data = true)
      : layout_(std::move(layout)),
        worker_(worker),
        weights_(data ? layout_.elements() : 0),
        gradients_(weights_.size()),
        states_(data ? 5 : 0),
        optimizer_(optimizer, weights_.size()) {
    // Forward from the last bucket to the first, backward from the first to the last.
    for (int b = static_cast<int>(layout_.buckets.size()) - 1; b >= 0; --b) {
      stages_.push_back({{b}, {}, 0.001});
    }
    for (size_t b = 0; b < layout_.buckets.size(); ++b) {
      stages_.push_back({{}, {static_cast<int>(b)}, 0.002});
    }
    for (size_t i = 0; i < weights_.size(); ++i) weights_[i] = static_cast<float>(i % 7);
    for (size_t i = 0; i < weights_.size(); ++i) seen_.push_back(0);
  }

  /// Every fifth element has the same goal everywhere: there the mean of some workers' gradients is
  /// that of all.
  static bool common(size_t element) { return element % 5 == 0; }
  static float goal(int worker, size_t element) {
    if (common(element)) worker = 0;
    return static_cast<float>((element * 31 + static_cast<size_t>(worker) * 17) % 23) - 11.0F;
  }

  const Layout& layout() const override { return layout_; }
  const std::vector<Stage>& stages() const override { return stages_; }
  void run(size_t stage) override {
    if (weights_.empty()) return;
    for (const int b : stages_[stage].needs) {
      const Bucket& bucket = layout_.buckets[static_cast<size_t>(b)];
      std::memcpy(seen_.data() + bucket.first, weights_.data() + bucket.first,
                  bucket.count * sizeof(float));
    }
    if (!stages_[stage].finishes.empty()) consistent_ = consistent_ && unchanged();
    for (const int b : stages_[stage].finishes) {
      const Bucket& bucket = layout_.buckets[static_cast<size_t>(b)];
      for (size_t i = bucket.first; i < bucket.first + bucket.count; ++i) {
        gradients_[i] = weights_[i] - goal(worker_, i);
      }
    }
  }
  Floats weights() override { return floats(weights_, layout_.elements()); }
  Floats gradients() override { return floats(gradients_, layout_.elements()); }
  Floats states() override { return floats(states_, 5); }
  std::vector<Floats> kept() override {
    std::vector<Floats> all;
    for (const auto& slot : optimizer_.slots()) {
      all.push_back({weights_.empty() ? nullptr : slot.span().data(), layout_.elements()});
    }
    return all;
  }
  void update(size_t first, size_t count, const optim::Hyper& hyper) override {
    segments_in(layout_, first, count, segments_);
    optimizer_.update(weights_, gradients_, {}, segments_, hyper);
  }
  double update_seconds(size_t count) const override { return 1e-9 * static_cast<double>(count); }
  void weights_changed(size_t, size_t) override {}
  double gradient_norm() override {
    double sum = 0;
    for (const float g : gradients_) sum += static_cast<double>(g) * g;
    return std::sqrt(sum);
  }

  const std::vector<float>& values() const { return weights_; }
  std::vector<float>& values() { return weights_; }
  bool consistent() const { return consistent_; }

 private:
  /// Until a pass is over, all weights must be what its beginning saw.
  bool unchanged() const {
    for (const Bucket& bucket : layout_.buckets) {
      if (std::memcmp(seen_.data() + bucket.first, weights_.data() + bucket.first,
                      bucket.count * sizeof(float)) != 0) {
        return false;
      }
    }
    return true;
  }
  static Floats floats(std::vector<float>& values, size_t count) {
    return {values.empty() ? nullptr : values.data(), count};
  }

  Layout layout_;
  std::vector<optim::Segment> segments_;
  int worker_;
  std::vector<Stage> stages_;
  std::vector<float> weights_;
  std::vector<float> gradients_;
  std::vector<float> states_;
  std::vector<float> seen_;
  optim::Optimizer optimizer_;
  bool consistent_ = true;
};

}  // namespace syrtos::strategy

#pragma once

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "syrtos/graph/graph.h"
#include "syrtos/ops/activation.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/bias.h"
#include "syrtos/ops/softmax.h"
#include "tests/support/make_ops.h"

namespace syrtos::test {

/// A network of random operations: chains, branches, values that are used many times.
class RandomNetwork {
 public:
  explicit RandomNetwork(uint32_t seed) : random_(seed) {
    images_.push_back(whole.add_input("images", type_of({kBatch, 2, 4, 4})));
    rows_.push_back(whole.add_input("rows", type_of({kBatch, 3})));
    const int nodes = pick(3, 30);
    for (int i = 0; i < nodes; ++i) add_node();
    // Something that is trained leads to the loss, whatever was drawn.
    const graph::ValueId last = dense(rows_.back(), 3);
    const graph::ValueId labels = whole.add_input("labels", {DType::s32, {kBatch}});
    whole.set_scope("loss");
    const graph::ValueId logits = whole.add_one(std::make_shared<ops::Add>(), {last, any(rows_)});
    loss = whole.add_one(cross_entropy(),
                         {whole.add_one(std::make_shared<ops::Softmax>(true), {logits}), labels});
    whole.set_output("logits", logits);
    whole.set_output("loss", loss);
  }

  int pick(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }

  std::vector<int> random_parts(int parts) {
    std::vector<int> part_of;
    for (size_t n = 0; n < whole.nodes().size(); ++n) part_of.push_back(pick(0, parts - 1));
    return part_of;
  }

  /// Each part is what comes between two places of the order.
  std::vector<int> consecutive_parts(int parts) {
    std::vector<int> part_of = random_parts(parts);
    std::sort(part_of.begin(), part_of.end());
    return part_of;
  }

  graph::Graph whole;
  graph::ValueId loss = graph::kNone;

 private:
  static constexpr int64_t kBatch = 3;

  static TensorType type_of(Shape shape) { return {DType::f32, shape}; }

  graph::ValueId any(const std::vector<graph::ValueId>& values) {
    // Rather one of the last.
    const int back = std::min(pick(1, 3), pick(1, static_cast<int>(values.size())));
    return values[values.size() - static_cast<size_t>(std::min<size_t>(values.size(), back))];
  }

  graph::ValueId parameter(Shape shape) {
    return whole.add_parameter("weight" + std::to_string(parameters_++), type_of(shape), true);
  }

  graph::ValueId dense(graph::ValueId x, int64_t units) {
    return whole.add_one(matmul(false, true), {x, parameter({units, whole.type(x).shape[1]})});
  }

  void add_node() {
    whole.set_scope("layer" + std::to_string(whole.nodes().size()));
    switch (pick(0, 9)) {
      case 0:
      case 1:
        images_.push_back(
            whole.add_one(conv(window_2d(3, 1, 1)), {any(images_), parameter({2, 2, 3, 3})}));
        break;
      case 2:
        images_.push_back(
            whole.add_one(std::make_shared<ops::BiasAdd>(), {any(images_), parameter({2})}));
        break;
      case 3:
        images_.push_back(whole.add_one(
            std::make_shared<ops::Activation>(ops::ActivationKind::relu), {any(images_)}));
        break;
      case 4:
        images_.push_back(
            whole.add_one(std::make_shared<ops::Add>(), {any(images_), any(images_)}));
        break;
      case 5:
        images_.push_back(
            whole.add_one(std::make_shared<ops::Multiply>(), {any(images_), any(images_)}));
        break;
      case 6:
        rows_.push_back(whole.add_one(reduce(true, {2, 3}), {any(images_)}));
        rows_.back() = dense(rows_.back(), 3);
        break;
      case 7:
        rows_.push_back(dense(any(rows_), 3));
        break;
      case 8:
        rows_.push_back(whole.add_one(std::make_shared<ops::Activation>(ops::ActivationKind::tanh),
                                      {any(rows_)}));
        break;
      case 9: {
        auto constant = std::make_shared<ops::Constant>();
        constant->type = type_of({kBatch, 3});
        constant->value = 0.5F;
        rows_.push_back(
            whole.add_one(std::make_shared<ops::Add>(), {any(rows_), whole.add_one(constant, {})}));
        break;
      }
    }
  }

  std::mt19937 random_;
  std::vector<graph::ValueId> images_;  // [batch, 2, 4, 4]
  std::vector<graph::ValueId> rows_;    // [batch, 3]
  int parameters_ = 0;
};

}  // namespace syrtos::test

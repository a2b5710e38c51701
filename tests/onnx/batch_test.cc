// Files that were exported for one batch size, built for others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/graph/reference.h"
#include "syrtos/onnx/network.h"
#include "tests/onnx/every_operator.h"
#include "tests/support/gradient_check.h"

namespace syrtos::onnx {
namespace {

using testing::HasSubstr;
using List = std::vector<int64_t>;

/// The logits of some samples, computed by the naive references; weights are the same for all.
std::vector<double> logits_of(const nn::Network& network, int64_t batch,
                              const std::vector<double>& images) {
  nn::ModelOptions options = network.default_options();
  options.batch = batch;
  options.training = false;
  const nn::Model model = network.build(options);
  test::Values values = test::random_values(model.graph, 3);
  for (auto& [id, tensor] : values) {
    const graph::ValueKind kind = model.graph.value(id).kind;
    for (size_t i = 0; kind != graph::ValueKind::input && i < tensor.values.size(); ++i) {
      const double value = std::sin(static_cast<double>(7 * i + 1));
      tensor.values[i] = kind == graph::ValueKind::state ? 1.5 + 0.5 * value : 0.5 * value;
    }
  }
  EXPECT_EQ(values.at(model.images).values.size(), images.size());
  values.at(model.images).values = images;
  return graph::evaluate_reference(model.graph, values).at(model.logits).values;
}

/// Every sample gets the logits that it has in the file's own batch.
void expect_same_for(const MadeModel& made, int64_t file_batch, const List& batches) {
  const nn::Network network = network_of(made.bytes(), "fixed.onnx");
  const int64_t sample = network.info().image().elements();
  const auto images = [&](int64_t first, int64_t count) {
    std::vector<double> values;
    for (int64_t i = first * sample; i < (first + count) * sample; ++i) {
      values.push_back(std::sin(static_cast<double>(i * i % 1009)));
    }
    return values;
  };
  for (const int64_t batch : batches) {
    const std::vector<double> found = logits_of(network, batch, images(0, batch));
    const auto classes = static_cast<int64_t>(found.size()) / batch;
    EXPECT_TRUE(batch == 1 || std::fabs(found[0] - found[static_cast<size_t>(classes)]) > 1e-6)
        << "all samples are the same";
    for (int64_t first = 0; first < batch; first += file_batch) {
      const std::vector<double> truth = logits_of(network, file_batch, images(first, file_batch));
      for (int64_t i = 0; i < std::min(file_batch, batch - first) * classes; ++i) {
        ASSERT_NEAR(found[static_cast<size_t>(first * classes + i)], truth[static_cast<size_t>(i)],
                    1e-9)
            << "batch " << batch << ", sample " << first << " + " << i / classes;
      }
    }
  }
}

/// Attention over signals [batch, 8, tokens] with the tokens first, as PyTorch writes it.
MadeModel attention(int64_t batch, int64_t tokens, int64_t heads) {
  constexpr int64_t kWidth = 8;
  MadeModel made;
  made.input("x", {batch, kWidth, tokens});
  auto& first = made.node("Transpose", {"x"}, {"t"});
  MadeModel::set(first, "perm", List{2, 0, 1});
  made.integers("by_head", {tokens, batch * heads, kWidth / heads});
  for (const std::string part : {"q", "k", "v"}) {
    made.weight(part + "_weight", {kWidth, kWidth}, 0.05F);
    made.node("MatMul", {"t", part + "_weight"}, {part + "0"});
    made.node("Reshape", {part + "0", "by_head"}, {part + "1"});
    MadeModel::set(made.node("Transpose", {part + "1"}, {part}), "perm",
                   part == "k" ? List{1, 2, 0} : List{1, 0, 2});
  }
  made.node("MatMul", {"q", "k"}, {"scores"});
  MadeModel::set(made.node("Softmax", {"scores"}, {"shares"}), "axis", int64_t{-1});
  made.node("MatMul", {"shares", "v"}, {"o"});
  MadeModel::set(made.node("Transpose", {"o"}, {"o1"}), "perm", List{1, 0, 2});
  made.integers("rows", {tokens * batch, kWidth});
  made.integers("back", {tokens, batch, kWidth});
  made.weight("out", {kWidth, kWidth}, 0.05F);
  made.node("Reshape", {"o1", "rows"}, {"o2"});
  made.node("MatMul", {"o2", "out"}, {"o3"});
  made.node("Reshape", {"o3", "back"}, {"o4"});
  auto& mean = made.node("ReduceMean", {"o4"}, {"m"});
  MadeModel::set(mean, "axes", List{0});
  MadeModel::set(mean, "keepdims", int64_t{0});
  made.weight("head", {kWidth, 3}, 0.05F);
  made.node("MatMul", {"m", "head"}, {"logits"});
  made.output("logits", {batch, 3});
  return made;
}

TEST(OnnxBatch, OfOneBecomesAnyInAttention) {
  expect_same_for(attention(1, 10, 2), 1, {2, 3, 5, 10, 20});  // some divide the tokens
  expect_same_for(attention(1, 4, 4), 1, {2, 4, 7});           // as many tokens as heads
}

TEST(OnnxBatch, OfSeveralBecomesAnyInAttention) {
  expect_same_for(attention(4, 6, 4), 4, {1, 2, 3, 6, 8});
  expect_same_for(attention(6, 6, 2), 6, {1, 2, 5});
}

TEST(OnnxBatch, IsNotTakenForHeads) {
  // [8, 3, 16, 2] in eight heads: the batch is in the first extent, the second one only looks so.
  MadeModel made;
  made.input("x", {8, 3, 16, 2});
  made.integers("by_head", {24, 8, -1});
  made.integers("back", {8, 96});
  made.weight("w", {96, 4}, 0.05F);
  made.node("Reshape", {"x", "by_head"}, {"a"});
  MadeModel::set(made.node("Softmax", {"a"}, {"b"}), "axis", int64_t{1});
  made.node("Reshape", {"b", "back"}, {"c"});
  made.node("MatMul", {"c", "w"}, {"logits"});
  made.output("logits", {8, 4});
  expect_same_for(made, 8, {1, 4, 16});
}

TEST(OnnxBatch, GetsACopyOfWhatIsJoinedWithEachSample) {
  for (const bool expands : {false, true}) {
    MadeModel made;
    made.input("x", {1, 4, 5});
    made.weight("token", {1, 4, 1});
    made.integers("shape", {1, 4, 1});
    if (expands) made.node("Expand", {"token", "shape"}, {"copy"});
    MadeModel::set(made.node("Concat", {expands ? "copy" : "token", "x"}, {"a"}), "axis",
                   int64_t{2});
    made.integers("flat", {1, 24});
    made.weight("w", {24, 3}, 0.05F);
    made.node("Reshape", {"a", "flat"}, {"b"});
    made.node("MatMul", {"b", "w"}, {"logits"});
    made.output("logits", {1, 3});
    expect_same_for(made, 1, {2, 4, 5});
  }
}

TEST(OnnxBatch, IsChangedInEveryOperator) { expect_same_for(EveryOperator::make(), 1, {2, 4, 6}); }

std::string refusal_for(const MadeModel& made, int64_t batch) {
  const nn::Network network = network_of(made.bytes(), "fixed.onnx");
  nn::ModelOptions options = network.default_options();
  options.batch = batch;
  try {
    network.build(options);
  } catch (const RequestError& error) {
    return error.what();
  }
  return "was accepted";
}

TEST(OnnxBatch, IsNotChangedWhereSamplesAreMixed) {
  const auto made_with = [](const std::function<void(MadeModel&)>& add) {
    MadeModel made;
    made.input("x", {4, 6});
    made.weight("w", {6, 3});
    add(made);
    made.node("MatMul", {"a", "w"}, {"logits"});
    made.output("logits", {4, 3});
    return made;
  };
  const std::vector<MadeModel> mixing = {
      made_with([](MadeModel& made) {
        MadeModel::set(made.node("Softmax", {"x"}, {"a"}), "axis", int64_t{0});
      }),
      made_with([](MadeModel& made) {
        made.integers("order", {3, 2, 1, 0});
        made.node("Gather", {"x", "order"}, {"a"});
      }),
      made_with([](MadeModel& made) {
        made.integers("other", {6, 4});
        made.node("Reshape", {"x", "other"}, {"y"});
        made.node("Transpose", {"y"}, {"a"});
      }),
      made_with([](MadeModel& made) {
        made.weight("own", {4, 6});
        made.node("Add", {"x", "own"}, {"a"});
      }),
  };
  for (const MadeModel& made : mixing) {
    EXPECT_EQ(refusal_for(made, 4), "was accepted");
    for (const int64_t batch : {1, 2, 8}) EXPECT_NE(refusal_for(made, batch), "was accepted");
  }
  EXPECT_THAT(refusal_for(mixing[0], 8),
              HasSubstr("node a_node (Softmax): [softmax] would mix the samples of a batch"));
}

TEST(OnnxBatch, IsNotTakenForARowOfAWeight) {
  MadeModel made;
  made.input("x", {1, 6});
  made.weight("table", {10, 6});
  made.weight("w", {60, 3});
  made.node("Add", {"x", "table"}, {"a"});  // ten rows for the one sample
  made.integers("flat", {1, 60});
  made.node("Reshape", {"a", "flat"}, {"b"});
  made.node("MatMul", {"b", "w"}, {"logits"});
  made.output("logits", {1, 3});
  EXPECT_EQ(refusal_for(made, 1), "was accepted");
  EXPECT_THAT(refusal_for(made, 10), HasSubstr("would mix the samples"));
}

}  // namespace
}  // namespace syrtos::onnx

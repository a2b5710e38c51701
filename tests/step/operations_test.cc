// The operations of networks of other formats in one small network: a pass allocates nothing, and
// small steps against its gradient lower its loss.

#include <gtest/gtest.h>

#include <cmath>

#include "syrtos/graph/passes.h"
#include "syrtos/graph/program.h"
#include "syrtos/ops/composed.h"
#include "syrtos/ops/conv.h"
#include "syrtos/ops/cpu/backend.h"
#include "syrtos/ops/element_loss.h"
#include "syrtos/ops/loss.h"
#include "syrtos/ops/pointwise.h"
#include "syrtos/ops/resizing.h"
#include "syrtos/ops/shaping.h"
#include "syrtos/ops/softmax.h"
#include "tests/step/allocations.h"

namespace syrtos {
namespace {

using graph::Graph;
using graph::ValueId;
using ops::BinaryKind;

using Axes = std::vector<int64_t>;

/// Images [4,3,12,12] are padded, cut into patches, mixed by attention and pooled; some parameters
/// stand where exporters put them.
class Mixed {
 public:
  explicit Mixed(DType dtype) : dtype_(dtype) {
    const ValueId images = graph_.add_input("images", {dtype, {4, 3, 12, 12}});
    const ValueId labels = graph_.add_input("labels", {DType::s32, {4}});
    const ValueId tokens = with_attention(patches(images));
    const ValueId rows = ops::cast(graph_, head(tokens), DType::f32);
    const ValueId log_p = ops::softmax(graph_, rows, -1, true);
    auto loss = std::make_shared<ops::CrossEntropy>();
    loss->class_weights = {1, 2, 1, 1, 0.5F};
    const ValueId error = graph_.add_one(loss, {log_p, labels});
    const ValueId size =
        graph_.add_one(std::make_shared<ops::ElementLoss>(ops::ElementLossKind::huber),
                       {rows, ops::literal(graph_, Tensor({DType::f32, {4, 5}}))});
    loss_ = ops::binary(graph_, BinaryKind::add, error,
                        ops::binary(graph_, BinaryKind::multiply, size, number(0.01F)));
    graph_.set_output("loss", loss_);
    graph::recognise(graph_);
    graph::add_gradients(graph_, loss_);
    graph::optimise(graph_);
  }

  const Graph& graph() const { return graph_; }

 private:
  ValueId number(float value) { return ops::literal(graph_, Tensor::from({}, {value})); }
  ValueId kernel(const char* name, Shape shape) {
    return graph_.add_parameter(name, {dtype_, shape}, 1);
  }
  ValueId f32(const char* name, Shape shape) {
    return graph_.add_parameter(name, {DType::f32, shape}, 0);
  }

  ValueId patches(ValueId x) {
    const std::vector<ops::ResizedAxis> larger{{2, 14, 14.0 / 12}, {3, 14, 14.0 / 12}};
    ops::ResizeOptions linear;
    linear.mode = ops::ResizeMode::linear;
    x = ops::resize(graph_, x, larger, linear);
    x = ops::pad(graph_, x, Axes{0, 0, 1, 1}, Axes{0, 0, 1, 1}, ops::PadMode::reflect);
    auto conv = std::make_shared<ops::Conv>();
    conv->window.kernel = conv->window.stride = {4, 4};
    x = graph_.add_one(conv, {x, kernel("conv", {16, 3, 4, 4})});
    x = ops::group_norm(graph_, x, 4, f32("group.scale", {16}), f32("group.shift", {16}));
    x = ops::binary(graph_, BinaryKind::prelu, x, f32("slope", {16, 1, 1}));
    x = ops::transpose(graph_, ops::reshape(graph_, x, {4, 16, 16}), Axes{0, 2, 1});
    return ops::binary(graph_, BinaryKind::add, x, f32("position", {1, 16, 16}));
  }

  ValueId with_attention(ValueId x) {
    const ValueId rows =
        ops::layer_norm(graph_, x, -1, f32("norm.scale", {16}), f32("norm.shift", {16}));
    ValueId qkv = ops::matmul(graph_, rows, kernel("qkv", {16, 48}));
    qkv = ops::binary(graph_, BinaryKind::add, qkv, f32("qkv.bias", {48}));
    qkv = ops::reshape(graph_, qkv, {4, 16, 3, 2, 8});
    qkv = ops::transpose(graph_, qkv, Axes{2, 0, 3, 1, 4});
    const ValueId q = ops::gather(graph_, qkv, 0, Axes{0}, {});
    const ValueId k = ops::gather(graph_, qkv, 0, Axes{1}, {});
    const ValueId v = ops::gather(graph_, qkv, 0, Axes{2}, {});
    ValueId scores = ops::matmul(graph_, q, ops::transpose(graph_, k, Axes{0, 1, 3, 2}));
    scores = ops::binary(graph_, BinaryKind::divide, scores, number(std::sqrt(8.0F)));
    ValueId y = ops::matmul(graph_, ops::softmax(graph_, scores, -1), v);
    y = ops::reshape(graph_, ops::transpose(graph_, y, Axes{0, 2, 1, 3}), {4, 16, 16});
    return ops::binary(graph_, BinaryKind::add, x, y);
  }

  ValueId head(ValueId x) {
    x = graph_.add_one(std::make_shared<ops::Pointwise>(ops::PointwiseKind::exact_gelu), {x});
    const ValueId mean = ops::reduce(graph_, x, ops::ReduceKind::mean, Axes{1}, false);
    const ValueId top = ops::reduce(graph_, x, ops::ReduceKind::max, Axes{1}, false);
    const ValueId both = ops::binary(graph_, BinaryKind::maximum, mean, top);
    return ops::gemm(graph_, both, kernel("head", {5, 16}), f32("head.bias", {5}),
                     {1, 1, false, true});
  }

  Graph graph_;
  DType dtype_;
  ValueId loss_ = graph::kNone;
};

/// Numbers without a pattern, small.
Tensor drawn(const Shape& shape, float centre, float width) {
  Tensor tensor({DType::f32, shape});
  uint32_t state = 12345;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    state = state * 1664525U + 1013904223U;
    const float unit = static_cast<float>(state >> 8) / static_cast<float>(1 << 24);
    tensor.set(i, centre + width * (2 * unit - 1));
  }
  return tensor;
}

class OperationsOfOthers : public testing::TestWithParam<DType> {};

TEST_P(OperationsOfOthers, LearnWithoutAllocating) {
  const Mixed mixed(GetParam());
  const auto backend = ops::cpu::make_backend();
  auto parameters = std::make_shared<graph::Parameters>();
  const auto program = graph::compile(mixed.graph(), *backend, parameters);
  for (const graph::ParameterSlot& slot : parameters->slots()) {
    const bool scale = slot.name.ends_with("scale");
    parameters->set(slot.name, drawn(slot.type.shape, scale ? 1 : 0, 0.3F));
  }
  program->set_input("images", drawn({4, 3, 12, 12}, 0, 1));
  program->set_input("labels", Tensor::from({4}, {0, 1, 4, 2}));
  program->run({});
  const float before = program->read_scalar("loss");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  allocations::counting = true;
  program->run({});
  allocations::counting = false;
  EXPECT_EQ(allocations::ours, 0);
  allocations::ours = 0;
  allocations::libraries = 0;
#endif
  for (int step = 0; step < 30; ++step) {
    program->run({});
    for (const graph::ParameterSlot& slot : parameters->slots()) {
      Tensor weights = parameters->get(slot.name);
      const Tensor gradient = parameters->get_gradient(slot.name);
      for (int64_t i = 0; i < weights.elements(); ++i) {
        weights.set(i, weights.get(i) - 0.05F * gradient.get(i));
      }
      parameters->set(slot.name, weights);
    }
  }
  program->run({});
  EXPECT_LT(program->read_scalar("loss"), 0.7F * before);
}

INSTANTIATE_TEST_SUITE_P(All, OperationsOfOthers, testing::Values(DType::f32, DType::bf16),
                         [](const auto& info) { return std::string(to_string(info.param)); });

}  // namespace
}  // namespace syrtos

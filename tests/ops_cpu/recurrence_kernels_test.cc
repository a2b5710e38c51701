// Recurrent layers' kernels against the naive references.

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/ops/pointwise.h"
#include "syrtos/ops/recurrence.h"
#include "syrtos/ops/shaping.h"
#include "syrtos/ops/to_indices.h"
#include "tests/support/kernel_case.h"
#include "tests/support/make_ops.h"

namespace syrtos {
namespace {

using graph::ValueId;
using ops::RecurrenceKind;
using test::Context;

/// Its lengths, where there are some, are 0 to `steps`.
struct Sizes {
  int64_t steps = 5;
  int64_t batch = 3;
  int64_t units = 7;
  bool lengths = false;
  bool reverse = false;
};

ValueId add_recurrence(Context& c, RecurrenceKind kind, const Sizes& s) {
  const int64_t rows = ops::gates_of(kind) * s.units;
  std::vector<ValueId> inputs{c.parameter("projected", {s.steps, s.batch, rows}),
                              c.weights("weights", {rows, s.units}),
                              c.f32_parameter("bias", {rows})};
  if (s.lengths) inputs.push_back(c.graph.add_input("lengths", {DType::s32, {s.batch}}));
  return c.graph.add(test::recurrence(kind, s.reverse), inputs)[0];
}

constexpr std::array kKinds = {RecurrenceKind::rnn_tanh, RecurrenceKind::rnn_relu,
                               RecurrenceKind::lstm, RecurrenceKind::gru};

graph::Graph with_loss(RecurrenceKind kind, const Sizes& sizes, DType dtype) {
  return test::build({"recurrence", [&](Context& c) { return add_recurrence(c, kind, sizes); }},
                     dtype);
}

class RecurrenceKernels : public testing::TestWithParam<std::tuple<RecurrenceKind, DType, bool>> {
 protected:
  void expect_match(Sizes sizes) {
    const auto [kind, dtype, reverse] = GetParam();
    sizes.reverse = reverse;
    test::expect_matches_reference(with_loss(kind, sizes, dtype), dtype == DType::f32 ? 2e-5 : 4e-2,
                                   1, sizes.steps + 1);
  }
};

TEST_P(RecurrenceKernels, MatchTheReference) { expect_match({}); }
TEST_P(RecurrenceKernels, MatchForOneStep) { expect_match({.steps = 1, .batch = 2, .units = 33}); }
TEST_P(RecurrenceKernels, MatchForOneSample) {
  expect_match({.steps = 4, .batch = 1, .units = 16});
}
TEST_P(RecurrenceKernels, MatchForLengths) { expect_match({.batch = 9, .lengths = true}); }
TEST_P(RecurrenceKernels, MatchForManyRowsAndThreads) {
  const ThreadScope threads(3);
  expect_match({.steps = 3, .batch = 77, .units = 40});
}

INSTANTIATE_TEST_SUITE_P(All, RecurrenceKernels,
                         testing::Combine(testing::ValuesIn(kKinds),
                                          testing::Values(DType::f32, DType::bf16),
                                          testing::Bool()));

/// Result and gradients of a step with so many threads.
std::vector<float> numbers_with(int threads, RecurrenceKind kind) {
  const ThreadScope scope(threads);
  const graph::Graph g = with_loss(kind, {.steps = 6, .batch = 10, .units = 19}, DType::f32);
  const test::Feed feed(g, 3);
  const auto backend = ops::cpu::make_backend();
  auto parameters = std::make_shared<graph::Parameters>();
  const auto program = graph::compile(g, *backend, parameters);
  feed.give(*program, *parameters);
  program->run({});
  std::vector<float> numbers;
  for (const Tensor& tensor : {program->read("result"), parameters->get_gradient("projected")}) {
    for (int64_t i = 0; i < tensor.elements(); ++i) numbers.push_back(tensor.get(i));
  }
  return numbers;
}

TEST(Recurrences, AreTheSameBitsForAnyNumberOfThreads) {
  for (const RecurrenceKind kind : kKinds) {
    EXPECT_EQ(numbers_with(1, kind), numbers_with(4, kind));
  }
}

TEST(Recurrences, RefuseALengthBeyondTheSteps) {
  const graph::Graph g =
      with_loss(RecurrenceKind::lstm, {.steps = 3, .batch = 2, .lengths = true}, DType::f32);
  const test::Feed feed(g, 1, 4);
  const auto backend = ops::cpu::make_backend();
  auto parameters = std::make_shared<graph::Parameters>();
  const auto program = graph::compile(g, *backend, parameters);
  feed.give(*program, *parameters);
  program->set_input("lengths", Tensor::from({2}, {3, 4}));
  EXPECT_THROW(program->run({}), RunError);
}

// Numbers of characters come as values of a sample.
TEST(Recurrences, OfEmbeddedCharactersMatchTheReference) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const graph::Graph g = test::build(
        {"embedded",
         [](Context& c) {
           const ValueId ids = c.graph.add_input("ids", {c.dtype, {4, 3}});
           const ValueId scaled = c.add(ops::Pointwise(ops::PointwiseKind::clip, 0, 6), {ids});
           const ValueId rows = c.add(ops::ToIndices(), {scaled});
           const ValueId table = c.weights("table", {7, 8});
           const ValueId embedded = ops::gather(c.graph, table, 0, rows);
           return c.graph.add(
               test::recurrence(RecurrenceKind::rnn_tanh),
               std::array{embedded, c.weights("weights", {8, 8}), c.f32_parameter("bias", {8})})[0];
         }},
        dtype);
    test::expect_matches_reference(g, dtype == DType::f32 ? 2e-5 : 4e-2);
  }
}

}  // namespace
}  // namespace syrtos

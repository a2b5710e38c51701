#include "syrtos/strategy/undo.h"

#include <gmock/gmock.h>

#include <numeric>
#include <random>

#include "tests/strategy/toy.h"

namespace syrtos::strategy {
namespace {

constexpr optim::OptimizerOptions kMomentum{.method = optim::Method::momentum};

/// What a worker has after some steps.
struct Kept {
  std::vector<float> weights, states, momentum;
  bool operator==(const Kept&) const = default;
};

Kept kept_of(ToyReplica& replica) {
  const auto copy = [](const Floats& all) {
    return std::vector<float>(all.data, all.data + all.count);
  };
  return {copy(replica.weights()), copy(replica.states()), copy(replica.kept().front())};
}

/// A worker that takes whole steps and, in the end, a part of one; the buckets are updated in an
/// order of chance.
class Worker {
 public:
  explicit Worker(unsigned seed)
      : random_(seed), replica_(toy_layout({100, 5, 300, 41, 77}, 400), kMomentum, 1) {}

  void take_step(int64_t step, size_t buckets) {
    if (step == 0) after_.push_back(kept_of(replica_));
    undo_.begin_step(step);
    undo_.copy_in_this_step();
    for (size_t i = 0; i < replica_.stages().size(); ++i) replica_.run(i);
    for (size_t i = 0; i < replica_.states().count; ++i) {
      replica_.states().data[i] += static_cast<float>(step + 1);
    }
    std::vector<int> order(replica_.layout().buckets.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random_);
    order.resize(std::min(buckets, order.size()));
    for (const int bucket : order) {
      undo_.update(bucket, step, {.learning_rate = 0.1, .weight_decay = 0, .step = step});
    }
    if (buckets >= replica_.layout().buckets.size()) after_.push_back(kept_of(replica_));
  }

  std::mt19937 random_;
  ToyReplica replica_;
  Undo undo_{replica_, true};
  std::vector<Kept> after_;  // so many steps
};

TEST(Undo, GoesBackToTheEndOfAStepWhereverItIsBroken) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Worker worker(seed);
    const auto steps = static_cast<int64_t>(worker.random_() % 6);
    for (int64_t step = 0; step < steps; ++step) worker.take_step(step, 100);
    const size_t buckets = worker.replica_.layout().buckets.size();
    const size_t done = worker.random_() % buckets;
    worker.take_step(steps, done);
    const std::optional<int64_t> back = worker.undo_.go_back();
    ASSERT_TRUE(back.has_value()) << "seed " << seed;
    ASSERT_LE(*back, steps);
    if (done == 0) {
      EXPECT_EQ(*back, steps) << "nothing was to be undone";
    }
    EXPECT_EQ(kept_of(worker.replica_), worker.after_[static_cast<size_t>(*back)])
        << "seed " << seed << ", " << done << " buckets of step " << steps;
  }
}

/// The next pass begins while the last buckets of a step are on their way.
TEST(Undo, GoesBackWhereThePassHasBegunBeforeAllBucketsWereThere) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Worker worker(seed);
    const auto steps = static_cast<int64_t>(worker.random_() % 6);
    for (int64_t step = 0; step < steps; ++step) worker.take_step(step, 100);
    const size_t done = worker.random_() % 4;
    worker.take_step(steps, done);
    worker.undo_.begin_step(steps + 1);
    worker.undo_.copy_in_this_step();
    if (seed % 2 == 0) worker.replica_.states().data[0] += 1;  // it has moved them too
    const std::optional<int64_t> back = worker.undo_.go_back();
    ASSERT_TRUE(back.has_value()) << "seed " << seed;
    if (done == 0) {
      EXPECT_EQ(*back, steps) << "nothing was to be undone";
    }
    EXPECT_EQ(kept_of(worker.replica_), worker.after_[static_cast<size_t>(*back)])
        << "seed " << seed << ", " << done << " buckets of step " << steps;
  }
}

TEST(Undo, KeepsACompleteStep) {
  Worker worker(1);
  worker.take_step(0, 100);
  worker.take_step(1, 100);
  EXPECT_EQ(worker.undo_.go_back(), 2);
  EXPECT_EQ(kept_of(worker.replica_), worker.after_[2]);
}

TEST(Undo, GoesBackToTheLastCopy) {
  Worker worker(1);
  worker.take_step(0, 100);
  worker.undo_.begin_step(1);
  const Kept before = kept_of(worker.replica_);
  // The first copy was made in step 0; another is due when that was cheap, which here it may be.
  worker.undo_.copy_all(1);
  worker.replica_.values()[3] = 77;
  const std::optional<int64_t> back = worker.undo_.go_back_to_copy();
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(kept_of(worker.replica_), worker.after_[static_cast<size_t>(*back)]);
  if (*back == 1) {
    EXPECT_EQ(kept_of(worker.replica_), before);
  }
}

TEST(Undo, CannotWhereNothingIsCopied) {
  ToyReplica replica(toy_layout({100, 5}, 100), kMomentum, 1);
  Undo undo(replica, false);
  undo.begin_step(0);
  undo.copy_in_this_step();
  undo.update(0, 0, {.learning_rate = 0.1, .weight_decay = 0, .step = 0});
  EXPECT_EQ(undo.go_back(), std::nullopt);
}

}  // namespace
}  // namespace syrtos::strategy

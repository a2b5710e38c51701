#include "syrtos/train/team/part_tensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>

#include "syrtos/world/tcp/cluster.h"
#include "tests/support/temporary.h"

namespace syrtos::train {
namespace {

using world::Task;
using world::World;

constexpr int64_t kElements = 100'000;
constexpr size_t kTensorBytes = kElements * sizeof(float);
constexpr size_t kTensors = 8;

/// What one worker has: each tensor full of a number of its own.
struct Part {
  explicit Part(int part) {
    std::vector<graph::ParameterSlot> slots(kTensors);
    for (size_t i = 0; i < kTensors; ++i) {
      slots[i].name = "p" + std::to_string(part) + "." + std::to_string(i);
      slots[i].type = {DType::f32, Shape{kElements}};
      slots[i].offset = i * kElements;
      slots[i].elements = kElements;
    }
    parameters.lay_out(slots, {}, false);
    for (size_t i = 0; i < kTensors; ++i) {
      std::ranges::fill(values(i), static_cast<float>(100 * part) + static_cast<float>(i));
    }
  }
  std::span<float> values(size_t i) {
    return parameters.weights().subspan(i * kElements, kElements);
  }

  graph::Parameters parameters;
};

/// Every tensor is full of 7.
class Sevens final : public TensorSource {
 public:
  std::optional<Tensor> find(const NamedShape& what) override {
    Tensor tensor({DType::f32, what.shape});
    std::fill_n(tensor.as<float>(), kElements, 7.0F);
    return tensor;
  }
};

class PartTensorsOverTcp : public TemporaryDirectory {
 protected:
  static constexpr int kParts = 4;

  PartTensorsOverTcp() {
    for (int part = 0; part < kParts; ++part) parts_.emplace_back(part);
  }

  /// Everybody does `work` with its own, over connections that keep what comes unasked.
  void run(const std::function<Task<>(World&, PartTensors&)>& work) {
    world::TcpOptions options;
    options.lost_after = options.connect_timeout = 60;
    world::TcpCluster cluster(kParts, options, true);
    world::run_all(cluster, [&](World& world) -> Task<> {
      const auto rank = static_cast<size_t>(world.rank());
      PartTensors tensors(world, {.workers = kParts, .parts = kParts},
                          RunTensors(parts_[rank].parameters, {}));
      co_await work(world, tensors);
      kept_[rank] = dynamic_cast<world::TcpWorld&>(world).most_kept();
    });
  }

  std::deque<Part> parts_;
  std::array<size_t, kParts> kept_ = {};
  Spool spool_;
};

// What is sent unasked would wait in the memory of who is busy.
TEST_F(PartTensorsOverTcp, OneTensorAtATimeLiesInMemoryWhileTheDiskIsSlow) {
  constexpr double kBusy = 0.5;
  run([&](World& world, PartTensors& tensors) -> Task<> {
    co_await tensors.hand_out(nullptr);
    if (world.rank() == 0) co_await world.sleep(kBusy);
    co_await tensors.collect(spool_, directory_);
  });
  EXPECT_LE(kept_[0], kTensorBytes);
  ASSERT_EQ(spool_.all().size(), (kParts - 1) * kTensors);
  for (size_t i = 0; i < spool_.all().size(); ++i) {
    const Tensor found = spool_.read(i);
    const auto part = i / kTensors + 1;
    EXPECT_EQ(spool_.all()[i].key,
              "parameters/p" + std::to_string(part) + "." + std::to_string(i % kTensors));
    EXPECT_EQ(found.as<float>()[kElements - 1], static_cast<float>(100 * part + i % kTensors));
  }
}

TEST_F(PartTensorsOverTcp, TheOthersGetWhatTheFirstHasRead) {
  Sevens sevens;
  run([&](World& world, PartTensors& tensors) -> Task<> {
    co_await tensors.hand_out(world.rank() == 0 ? &sevens : nullptr);
  });
  for (size_t part = 1; part < kParts; ++part) {
    EXPECT_LE(kept_[part], kTensorBytes);
    for (size_t i = 0; i < kTensors; ++i) {
      EXPECT_TRUE(std::ranges::all_of(parts_[part].values(i), [](float v) { return v == 7; }));
    }
  }
  EXPECT_EQ(parts_[0].values(1)[0], 1);
}

}  // namespace
}  // namespace syrtos::train

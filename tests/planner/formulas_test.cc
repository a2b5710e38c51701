#include "syrtos/planner/formulas.h"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "syrtos/base/error.h"

namespace syrtos::planner {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::array kTypes = {EstimateType::async, EstimateType::sync_join,
                               EstimateType::sync_split};
constexpr std::array kServers = {ServerKind::central, ServerKind::distributed};

/// Speed-ups of 1 to 8 workers, 128 batches; calculated with exact fractions.
struct Row {
  const char* network;
  double t_grad, t_comm;
  EstimateType type;
  ServerKind server;
  std::array<double, 8> speed_up;
};

// clang-format off
const Row kRows[] = {
    {"VGG16E", 0.719, 5.153, EstimateType::async, ServerKind::central, {0.065215, 0.088666, 0.091333, 0.091682, 0.091893, 0.092034, 0.092135, 0.092211}},
    {"VGG16E", 0.719, 5.153, EstimateType::async, ServerKind::distributed, {1.000000, 0.244891, 0.284202, 0.340415, 0.401058, 0.463505, 0.526866, 0.590752}},
    {"VGG16E", 0.719, 5.153, EstimateType::sync_join, ServerKind::central, {0.065215, 0.076675, 0.081445, 0.084060, 0.085712, 0.086849, 0.087680, 0.088314}},
    {"VGG16E", 0.719, 5.153, EstimateType::sync_join, ServerKind::distributed, {1.000000, 0.244891, 0.284202, 0.340415, 0.401058, 0.463505, 0.526866, 0.590752}},
    {"VGG16E", 0.719, 5.153, EstimateType::sync_split, ServerKind::central, {0.065215, 0.039087, 0.027649, 0.021352, 0.017381, 0.014652, 0.012662, 0.011147}},
    {"VGG16E", 0.719, 5.153, EstimateType::sync_split, ServerKind::distributed, {1.000000, 0.130431, 0.101120, 0.090906, 0.085712, 0.082566, 0.080457, 0.078945}},
    {"GoogLeNet", 0.763, 0.210, EstimateType::async, ServerKind::central, {0.644970, 1.094189, 1.423577, 1.674307, 1.870642, 1.995376, 2.043928, 2.081922}},
    {"GoogLeNet", 0.763, 0.210, EstimateType::async, ServerKind::distributed, {1.000000, 1.568345, 2.194631, 2.831169, 3.471338, 4.113208, 4.756011, 5.399381}},
    {"GoogLeNet", 0.763, 0.210, EstimateType::sync_join, ServerKind::central, {0.644970, 1.018692, 1.262548, 1.434211, 1.561605, 1.659898, 1.738041, 1.801653}},
    {"GoogLeNet", 0.763, 0.210, EstimateType::sync_join, ServerKind::distributed, {1.000000, 1.568345, 2.194631, 2.831169, 3.471338, 4.113208, 4.756011, 5.399381}},
    {"GoogLeNet", 0.763, 0.210, EstimateType::sync_split, ServerKind::central, {0.644970, 0.683386, 0.584973, 0.490439, 0.416348, 0.359538, 0.315420, 0.280476}},
    {"GoogLeNet", 0.763, 0.210, EstimateType::sync_split, ServerKind::distributed, {1.000000, 1.289941, 1.427948, 1.508651, 1.561605, 1.599022, 1.626866, 1.648393}},
    {"SqueezeNet", 0.758, 0.033, EstimateType::async, ServerKind::central, {0.919903, 1.768429, 2.552838, 3.279444, 3.953773, 4.580673, 5.164422, 5.708805}},
    {"SqueezeNet", 0.758, 0.033, EstimateType::async, ServerKind::distributed, {1.000000, 1.916561, 2.835411, 3.754799, 4.674396, 5.594096, 6.513855, 7.433650}},
    {"SqueezeNet", 0.758, 0.033, EstimateType::sync_join, ServerKind::central, {0.919903, 1.735547, 2.463705, 3.117738, 3.708415, 4.244517, 4.733274, 5.180692}},
    {"SqueezeNet", 0.758, 0.033, EstimateType::sync_join, ServerKind::distributed, {1.000000, 1.916561, 2.835411, 3.754799, 4.674396, 5.594096, 6.513855, 7.433650}},
    {"SqueezeNet", 0.758, 0.033, EstimateType::sync_split, ServerKind::central, {0.919903, 1.532861, 1.814844, 1.876238, 1.823869, 1.723380, 1.608366, 1.494332}},
    {"SqueezeNet", 0.758, 0.033, EstimateType::sync_split, ServerKind::distributed, {1.000000, 1.839806, 2.555056, 3.171548, 3.708415, 4.180147, 4.597920, 4.970492}},
    {"ResNet-34", 0.821, 0.811, EstimateType::async, ServerKind::central, {0.336062, 0.503629, 0.603084, 0.619389, 0.629131, 0.635797, 0.640647, 0.644332}},
    {"ResNet-34", 0.821, 0.811, EstimateType::async, ServerKind::distributed, {1.000000, 1.006127, 1.294726, 1.611779, 1.937600, 2.267260, 2.598941, 2.931816}},
    {"ResNet-34", 0.821, 0.811, EstimateType::sync_join, ServerKind::central, {0.336062, 0.448695, 0.505127, 0.539023, 0.561636, 0.577796, 0.589920, 0.599352}},
    {"ResNet-34", 0.821, 0.811, EstimateType::sync_join, ServerKind::distributed, {1.000000, 1.006127, 1.294726, 1.611779, 1.937600, 2.267260, 2.598941, 2.931816}},
    {"ResNet-34", 0.821, 0.811, EstimateType::sync_split, ServerKind::central, {0.336062, 0.252693, 0.189666, 0.149906, 0.123418, 0.104702, 0.090836, 0.080175}},
    {"ResNet-34", 0.821, 0.811, EstimateType::sync_split, ServerKind::distributed, {1.000000, 0.672124, 0.605904, 0.577457, 0.561636, 0.551562, 0.544584, 0.539466}},
};
// clang-format on

const EstimateInput kSqueezeNet = {.t_grad = 0.758, .t_comm = 0.033, .workers = 4, .batches = 128};

void expect_seconds(EstimateType type, ServerKind server, const EstimateInput& input,
                    const Bounds& expected) {
  const Bounds found = training_seconds(type, server, input);
  EXPECT_NEAR(found.best, expected.best, 1e-9);
  EXPECT_NEAR(found.estimate, expected.estimate, 1e-9);
  EXPECT_NEAR(found.worst, expected.worst, 1e-9);
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const RequestError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Formulas, JoinIsAQuarterOfTheIterationsOnFourWorkers) {
  // 32 iterations of 0.758 s with 5 to 8 transfers.
  expect_seconds(EstimateType::sync_join, ServerKind::central, kSqueezeNet,
                 {32 * 0.923, 32 * 0.9725, 32 * 1.022});
  expect_seconds(EstimateType::sync_join, ServerKind::distributed, kSqueezeNet,
                 {25.84, 25.84, 25.84});
}

TEST(Formulas, SplitIsAllIterationsWithAQuarterOfTheComputing) {
  expect_seconds(EstimateType::sync_split, ServerKind::central, kSqueezeNet,
                 {45.376, 51.712, 58.048});
  expect_seconds(EstimateType::sync_split, ServerKind::distributed, kSqueezeNet,
                 {30.592, 30.592, 30.592});
}

TEST(Formulas, AsyncIsBoundByTheWorkersOrByTheServer) {
  expect_seconds(EstimateType::async, ServerKind::central, kSqueezeNet,
                 {26.467, 29.5855, 32.704});  // the workers: 3 * 0.033 + 32 * 0.824
  expect_seconds(EstimateType::async, ServerKind::distributed, kSqueezeNet, {25.84, 25.84, 25.84});
  expect_seconds(EstimateType::async, ServerKind::central,
                 {.t_grad = 0.719, .t_comm = 5.153, .workers = 8, .batches = 128},
                 {665.456, 998.064, 1330.672});  // the server: 129 * 5.153 + 0.719
}

TEST(Formulas, OneWorkerStillTalksToACentralServerButNotToItself) {
  for (const EstimateType type : kTypes) {
    EstimateInput input = kSqueezeNet;
    input.workers = 1;
    const double each = 128 * (0.758 + 2 * 0.033);
    expect_seconds(type, ServerKind::central, input, {each, each, each});
    EXPECT_DOUBLE_EQ(speed_up(type, ServerKind::distributed, input).estimate, 1);
  }
}

TEST(Formulas, SpeedUpsOfFourNetworksAreThoseOfExactFractions) {
  ASSERT_EQ(std::size(kRows), 24U);
  for (const Row& row : kRows) {
    for (int64_t n = 1; n <= 8; ++n) {
      const EstimateInput input = {row.t_grad, row.t_comm, n, 128};
      EXPECT_NEAR(speed_up(row.type, row.server, input).estimate,
                  row.speed_up[static_cast<size_t>(n - 1)], 5.1e-7)
          << row.network << " " << to_string(row.type) << " " << to_string(row.server) << " " << n;
    }
  }
}

TEST(Formulas, TheEstimateLiesBetweenBestAndWorst) {
  for (const EstimateType type : kTypes) {
    for (const ServerKind server : kServers) {
      for (const double t_comm : {1e-4, 0.03, 1.0, 40.0}) {
        for (int64_t n = 1; n <= 256; n = n * 3 / 2 + 1) {
          const EstimateInput input = {0.5, t_comm, n, 256};
          const Bounds seconds = training_seconds(type, server, input);
          // One formula for both may round differently in its last bit.
          EXPECT_LE(seconds.best, seconds.estimate * (1 + 1e-15));
          EXPECT_LE(seconds.estimate, seconds.worst * (1 + 1e-15));
          const Bounds faster = speed_up(type, server, input);
          EXPECT_GE(faster.best, faster.worst * (1 - 1e-15));
          EXPECT_EQ(server == ServerKind::central && n > 1, faster.best > faster.worst * 1.00001)
              << to_string(type) << " " << to_string(server) << " " << n << " " << t_comm;
        }
      }
    }
  }
}

TEST(Formulas, Vgg16eIsBestTrainedOnOneNode) {
  for (const EstimateType type : kTypes) {
    for (const ServerKind server : kServers) {
      for (int64_t n = 2; n <= 8; ++n) {
        EXPECT_LT(speed_up(type, server, {0.719, 5.153, n, 128}).best, 1);
      }
    }
  }
}

TEST(Formulas, SqueezeNetSplitWithACentralServerIsFastestOnFourNodes) {
  int64_t fastest = 1;
  auto at = [](int64_t n) {
    return speed_up(EstimateType::sync_split, ServerKind::central, {0.758, 0.033, n, 128}).estimate;
  };
  for (int64_t n = 2; n <= 8; ++n) {
    if (at(n) > at(fastest)) fastest = n;
  }
  EXPECT_EQ(fastest, 4);
}

TEST(Formulas, FewerBatchesThanWorkersAreDividedAsRealNumbers) {
  expect_seconds(EstimateType::sync_join, ServerKind::distributed,
                 {.t_grad = 1, .t_comm = 1, .workers = 4, .batches = 1}, {0.625, 0.625, 0.625});
}

TEST(Formulas, WhatMakesNoSenseIsRefusedByName) {
  auto message = [](const EstimateInput& input) {
    return message_of([&] { speed_up(EstimateType::sync_join, ServerKind::central, input); });
  };
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, std::nan(""), infinite, -infinite, 2e9}) {
    EXPECT_THAT(message({bad, 1, 1, 1}), HasSubstr("t_grad: expected seconds above 0"));
    EXPECT_THAT(message({1, bad, 1, 1}), HasSubstr("t_comm: expected seconds above 0"));
  }
  for (const int64_t bad : {int64_t{0}, int64_t{-3}, kMostWorkers + 1}) {
    EXPECT_THAT(message({1, 1, bad, 1}),
                AllOf(HasSubstr("workers: expected 1 to 1,000,000"), HasSubstr("found")));
  }
  EXPECT_THAT(message({1, 1, 1, 0}), HasSubstr("batches: expected 1 to"));
  EXPECT_EQ(message({1e9, 1e-300, kMostWorkers, kMostBatches}), "no error");
}

TEST(Formulas, NamesReadBackAndUnknownOnesAreRefused) {
  for (const EstimateType type : kTypes) EXPECT_EQ(parse_estimate_type(to_string(type)), type);
  for (const ServerKind server : kServers) EXPECT_EQ(parse_server_kind(to_string(server)), server);
  EXPECT_THAT(message_of([] { parse_estimate_type("sync-joint"); }),
              HasSubstr("did you mean 'sync-join'?"));
  EXPECT_THAT(message_of([] { parse_server_kind(""); }), HasSubstr("known: central, distributed"));
}

}  // namespace
}  // namespace syrtos::planner

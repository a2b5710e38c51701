#include "syrtos/strategy/columns.h"

#include <gtest/gtest.h>

#include <numeric>

namespace syrtos::strategy {
namespace {

TEST(ColumnShares, AreAllColumnsAndAtLeastOneEach) {
  for (const size_t outputs : {1U, 2U, 3U, 10U, 16U, 84U, 120U, 1000U, 4096U, 9999U}) {
    for (int workers = 1; workers <= 9; ++workers) {
      if (outputs < static_cast<size_t>(workers)) continue;
      const std::vector<size_t> shares = column_shares(outputs, workers);
      ASSERT_EQ(shares.size(), static_cast<size_t>(workers));
      EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), size_t{0}), outputs);
      for (const size_t share : shares) EXPECT_GE(share, 1U) << outputs << " " << workers;
    }
  }
  EXPECT_EQ(column_shares(4096, 3), (std::vector<size_t>{1376, 1360, 1360}));
}

TEST(ColumnRoundsOf, SendWhatTheFormulaSaysAndEverybodyReceivesIt) {
  const DenseShape layer{100, 64, 4};
  const size_t samples = 5;
  for (const int workers : {2, 3, 4, 8}) {
    const std::vector<size_t> each(static_cast<size_t>(workers), samples);
    double sent = 0;
    // [exchange][from][to]
    std::vector<std::vector<std::vector<size_t>>> sends(
        4, std::vector<std::vector<size_t>>(static_cast<size_t>(workers),
                                            std::vector<size_t>(static_cast<size_t>(workers))));
    auto receives = sends;
    for (int w = 0; w < workers; ++w) {
      const ColumnRounds rounds = column_rounds(layer, each, w);
      size_t index = 0;
      for (const collective::Round* round : {&rounds.gather_inputs, &rounds.bring_outputs,
                                             &rounds.bring_gradients, &rounds.scatter_gradients}) {
        for (const collective::Transfer& transfer : round->transfers) {
          const auto peer = static_cast<size_t>(transfer.peer);
          const auto own = static_cast<size_t>(w);
          if (transfer.sends()) {
            sends[index][own][peer] += transfer.count;
            sent += static_cast<double>(transfer.count);
          } else {
            receives[index][peer][own] += transfer.count;
          }
        }
        ++index;
      }
    }
    EXPECT_EQ(sends, receives);
    const size_t all = samples * static_cast<size_t>(workers);
    EXPECT_NEAR(sent / workers, bytes_by_columns(layer, all, workers), 1e-6 * sent);
  }
}

TEST(WorthColumns, IsWhatHasMuchMoreWeightsThanActivations) {
  EXPECT_TRUE(worth_columns({9216, 4096, 4}, 168, 4));   // AlexNet, 42 samples each
  EXPECT_TRUE(worth_columns({25088, 4096, 4}, 512, 8));  // VGG
  EXPECT_FALSE(worth_columns({512, 10, 4}, 168, 4));     // a classifier
  EXPECT_FALSE(worth_columns({9216, 4096, 4}, 4096, 4));
  EXPECT_FALSE(worth_columns({9216, 3, 4}, 1, 4));  // fewer columns than workers
  EXPECT_FALSE(worth_columns({9216, 4096, 4}, 42, 1));
}

}  // namespace
}  // namespace syrtos::strategy

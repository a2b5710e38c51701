#include "syrtos/base/parallel.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace syrtos {
namespace {

int threads_of_a_region() {
  int count = 0;
  parallel([&](int thread, int threads) {
    if (thread == 0) count = threads;
  });
  return count;
}

TEST(ThreadScope, HoldsWhileItLivesAndPutsBackWhatWasBefore) {
  const int before = thread_count();
  {
    const ThreadScope three(3);
    EXPECT_EQ(thread_count(), 3);
    EXPECT_EQ(threads_of_a_region(), 3);
    {
      const ThreadScope one(1);
      EXPECT_EQ(threads_of_a_region(), 1);
    }
    EXPECT_EQ(threads_of_a_region(), 3);
  }
  EXPECT_EQ(thread_count(), before);
}

TEST(ThreadScope, EndsWithAnException) {
  const int before = thread_count();
  try {
    const ThreadScope scope(before + 1);
    throw std::runtime_error("out");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(thread_count(), before);
}

TEST(ThreadScope, ConcernsTheCallingThreadAlone) {
  const int before = thread_count();
  std::jthread([] { set_thread_count(1); });
  EXPECT_EQ(thread_count(), before);
}

}  // namespace
}  // namespace syrtos

#include "syrtos/base/child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>

#include "syrtos/base/descriptor.h"

namespace syrtos {
namespace {

TEST(Child, ThatWasKilledIsEndingUntilItIsReaped) {
  const Descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  Child child({"sleep", "1000"}, {null.get(), null.get(), null.get()});
  EXPECT_FALSE(child.is_ending());
  EXPECT_FALSE(child.ended());
  child.signal(SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child.id()), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(child.is_ending());
  ASSERT_TRUE(child.ended());
  EXPECT_EQ(child.ended()->signal, SIGKILL);
  EXPECT_FALSE(child.is_ending());
}

}  // namespace
}  // namespace syrtos

#include "syrtos/world/socket.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace syrtos::world {
namespace {

/// No descriptor can be opened while it lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const int next = dup(STDERR_FILENO);
    close(next);
    const rlimit none{.rlim_cur = static_cast<rlim_t>(next), .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

bool has_come(int descriptor, int milliseconds) {
  pollfd event{.fd = descriptor, .events = POLLIN, .revents = 0};
  return poll(&event, 1, milliseconds) > 0;
}

TEST(Listener, WhoComesWhileNoDescriptorIsLeftIsTurnedAway) {
  Listener listener("127.0.0.1");
  const Descriptor caller = begin_connect(resolve("127.0.0.1", listener.port()));
  ASSERT_TRUE(has_come(listener.descriptor(), 10'000));
  {
    const NoDescriptors none;
    EXPECT_FALSE(listener.accept().valid());
    EXPECT_FALSE(has_come(listener.descriptor(), 0)) << "who waits for it would never rest";
  }
  ASSERT_TRUE(has_come(caller.get(), 10'000));
  char nothing = 0;
  EXPECT_LE(recv(caller.get(), &nothing, 1, 0), 0);
  const Descriptor next = begin_connect(resolve("127.0.0.1", listener.port()));
  ASSERT_TRUE(has_come(listener.descriptor(), 10'000));
  EXPECT_TRUE(listener.accept().valid());
}

}  // namespace
}  // namespace syrtos::world

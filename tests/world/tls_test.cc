#include "syrtos/world/tls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "syrtos/base/descriptor.h"

namespace syrtos::world {
namespace {

/// Two ends, and a wire between them that the test holds in its hands.
class Wire : public testing::Test {
 protected:
  static constexpr size_t kClient = 0;
  static constexpr size_t kServer = 1;

  Wire() {
    for (auto& [mine, others] : pairs_) {
      std::array<int, 2> both{};
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, both.data()), 0);
      mine = Descriptor(both[0]);
      others = Descriptor(both[1]);
    }
  }

  /// Of each end: the socket that it has, and the other side of that.
  struct Pair {
    Descriptor end;
    Descriptor wire;
  };

  /// Carries some of what one end has sent to the other one; how it looked on the way.
  std::string carry(size_t from) {
    std::string all(65536, ' ');
    const ssize_t got = recv(pairs_[from].wire.get(), all.data(), all.size(), 0);
    all.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (!all.empty() && change_ < all.size()) all[change_] ^= 1;
    EXPECT_EQ(send(pairs_[1 - from].wire.get(), all.data(), all.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(all.size()));
    return all;
  }

  /// What came of it at each end.
  std::array<Tls::State, 2> meet(Tls& client, Tls& server) {
    std::array states = {Tls::State::working, Tls::State::working};
    for (int round = 0; round < 10; ++round) {
      if (states[0] == Tls::State::working) states[0] = client.meet(end(kClient));
      carry(kClient);
      if (states[1] == Tls::State::working) states[1] = server.meet(end(kServer));
      carry(kServer);
    }
    return states;
  }

  int end(size_t which) const { return pairs_[which].end.get(); }

  std::array<Pair, 2> pairs_;
  size_t change_ = std::string::npos;  // the byte that somebody changes on the way
};

SecretBytes key_of(std::string_view token) { return seal(token, {}); }
const SecretBytes kKey = key_of("token");

using States = std::array<Tls::State, 2>;
constexpr States kBothDone = {Tls::State::done, Tls::State::done};

TEST_F(Wire, CarriesWhatNobodyElseCanRead) {
  Tls client(kKey, Tls::Side::connects);
  Tls server(kKey, Tls::Side::accepts);
  ASSERT_EQ(meet(client, server), kBothDone);
  const std::string text(40'000, 'w');
  ASSERT_EQ(client.write(end(kClient), text.data(), text.size()), ssize_t(text.size()));
  const std::string seen = carry(kClient);
  EXPECT_GT(seen.size(), text.size());
  EXPECT_EQ(seen.find("wwwwwwww"), std::string::npos);
  std::string read(text.size(), ' ');
  size_t there = 0;
  while (there < read.size()) {
    const ssize_t got = server.read(end(kServer), read.data() + there, read.size() - there);
    ASSERT_GT(got, 0);
    there += static_cast<size_t>(got);
  }
  EXPECT_EQ(read, text);
  EXPECT_EQ(server.unread(), 0U);
  EXPECT_EQ(server.read(end(kServer), read.data(), 1), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(Wire, IsNotForWhoHasAnotherKey) {
  Tls client(kKey, Tls::Side::connects);
  Tls server(key_of("Token"), Tls::Side::accepts);
  const States states = meet(client, server);
  EXPECT_EQ(states[kServer], Tls::State::failed);
  EXPECT_NE(states[kClient], Tls::State::done);
}

TEST_F(Wire, AByteThatWasChangedIsNoticedWhereverItIs) {
  for (const size_t change : {0, 3, 7, 4000, 16'500, 20'000}) {
    Tls client(kKey, Tls::Side::connects);
    Tls server(kKey, Tls::Side::accepts);
    ASSERT_EQ(meet(client, server), kBothDone);
    const std::string text(20'000, 'w');
    ASSERT_EQ(client.write(end(kClient), text.data(), text.size()), ssize_t(text.size()));
    change_ = change;
    carry(kClient);
    change_ = std::string::npos;
    std::string read(text.size(), ' ');
    size_t there = 0;
    ssize_t got = 1;
    while (there < read.size() && got > 0) {
      got = server.read(end(kServer), read.data() + there, read.size() - there);
      if (got > 0) there += static_cast<size_t>(got);
    }
    EXPECT_LT(there, text.size()) << change;
    // A length that was made larger is waited for; nothing of it is ever taken.
    EXPECT_TRUE(got == -1 && (errno == EBADMSG || errno == EAGAIN)) << change << ": " << errno;
    EXPECT_EQ(read.substr(0, there), text.substr(0, there));
    while (recv(end(kServer), read.data(), read.size(), 0) > 0) {
    }
  }
}

TEST_F(Wire, KeepsBackWhatTheSocketDoesNotTakeAndTakesNoMoreMeanwhile) {
  Tls client(kKey, Tls::Side::connects);
  Tls server(kKey, Tls::Side::accepts);
  ASSERT_EQ(meet(client, server), kBothDone);
  const std::string text(100'000, 'x');
  size_t taken = 0;
  for (ssize_t count = 0; count >= 0; taken += static_cast<size_t>(std::max<ssize_t>(count, 0))) {
    count = client.write(end(kClient), text.data(), text.size());
    ASSERT_LT(taken, 100'000'000U);
  }
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_GT(client.unsent(), 0U);
  EXPECT_LT(client.unsent(), 2 * text.size());
  std::string read(text.size(), ' ');
  size_t there = 0;
  for (int idle = 0; there < taken; ++idle) {
    ASSERT_LT(idle, 1000) << there << " of " << taken;
    (void)client.flush(end(kClient));
    carry(kClient);
    for (ssize_t got = 1; got > 0;) {
      got = server.read(end(kServer), read.data(), read.size());
      if (got > 0) there += static_cast<size_t>(got);
      if (got > 0) idle = 0;
    }
  }
  EXPECT_EQ(there, taken);
  EXPECT_EQ(client.unsent(), 0U);
}

TEST_F(Wire, AnEndIsAnEnd) {
  Tls client(kKey, Tls::Side::connects);
  Tls server(kKey, Tls::Side::accepts);
  ASSERT_EQ(meet(client, server), kBothDone);
  pairs_[kServer].wire.close();
  char byte = 0;
  EXPECT_EQ(server.read(end(kServer), &byte, 1), 0);
}

}  // namespace
}  // namespace syrtos::world

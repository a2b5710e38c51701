#include "syrtos/world/tcp/handshake.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <vector>

namespace syrtos::world::tcp {
namespace {

/// Two connections, rank 1 to rank 0 and rank 3 to rank 2, each of four hosts; what crosses is
/// carried by somebody who does not know the token.
class Crossing : public testing::Test {
 protected:
  static constexpr size_t kPlainOut = 64 + 32;  // hello, proof
  static constexpr size_t kPlainBack = 64 + 8;  // nonce and proof, welcome
  using State = Handshake::State;

  Crossing() {
    for (Rank rank = 0; rank < 4; ++rank) {
      TcpOptions& options = options_[static_cast<size_t>(rank)];
      options.rank = rank;
      options.token = "secret";
      options.connections = 1;
      options.members = {{"a", "", 1}, {"b", "", 1}, {"c", "", 1}, {"d", "", 1}};
    }
    for (size_t rank = 0; rank < 4; ++rank) {
      std::array<int, 2> both{};
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, both.data()), 0);
      wires_[rank] = Descriptor(both[1]);
      Descriptor end(both[0]);
      ranks_.push_back(rank % 2 == 1
                           ? Handshake::connecting(options_[rank], static_cast<Rank>(rank) - 1, 0,
                                                   std::move(end), 60)
                           : Handshake::accepted(options_[rank], std::move(end), 60));
    }
    states_.fill(State::working);
  }

  /// What `rank` has sent goes to its peer, or, behind the plain part, to that of the other one.
  void carry(size_t rank, bool crosses) {
    std::array<char, 65536> bytes;
    const size_t plain = rank % 2 == 1 ? kPlainOut : kPlainBack;
    const size_t most = carried_[rank] < plain ? plain - carried_[rank] : bytes.size();
    const ssize_t got = recv(wires_[rank].get(), bytes.data(), most, 0);
    if (got <= 0) return;
    const size_t peer = carried_[rank] < plain || !crosses ? rank ^ 1 : rank ^ 3;
    carried_[rank] += static_cast<size_t>(got);
    EXPECT_EQ(send(wires_[peer].get(), bytes.data(), static_cast<size_t>(got), MSG_NOSIGNAL), got);
  }

  void meet(bool crosses) {
    for (int round = 0; round < 40; ++round) {
      for (size_t rank = 0; rank < 4; ++rank) {
        if (states_[rank] == State::working) states_[rank] = ranks_[rank].step();
        carry(rank, crosses);
      }
    }
  }

  std::array<TcpOptions, 4> options_;
  std::vector<Handshake> ranks_;
  std::array<Descriptor, 4> wires_;
  std::array<size_t, 4> carried_{};
  std::array<State, 4> states_{};
};

TEST_F(Crossing, ConnectionsThatAreCarriedAsTheyAreMeet) {
  meet(false);
  for (size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(states_[rank], State::done) << rank << ": " << ranks_[rank].why();
    EXPECT_GT(carried_[rank], rank % 2 == 1 ? kPlainOut : kPlainBack) << "nothing was encrypted";
  }
}

TEST_F(Crossing, NobodyJoinsTwoConnectionsCrosswise) {
  meet(true);
  for (size_t rank = 0; rank < 4; ++rank) EXPECT_NE(states_[rank], State::done) << rank;
}

}  // namespace
}  // namespace syrtos::world::tcp

#include <gtest/gtest.h>

#include <array>
#include <exception>
#include <thread>

#include "syrtos/world/tcp/tcp.h"
#include "tests/world/conformance.h"

namespace syrtos::world {
namespace {

Task<> exchange(World& world) {
  const Rank other = 1 - world.rank();
  Started sending(world, send_values(world, other, test_tag(2), ramp(100'000, 1)));
  co_await expect_values(world, other, test_tag(2), ramp(100'000, 1));
  co_await sending.join();
}

// Machines whose names are equal, as those of cloned images are: nothing but the addresses tells
// them apart.
TEST(TcpWorld, MachinesOfTheSameNameShareNoMemory) {
  TcpOptions options;
  options.token = "secret";
  options.connect_timeout = options.lost_after = 60;
  std::array<Listener, 2> listeners = {Listener("127.0.0.2"), Listener("127.0.0.1")};
  options.members = {{"twin", "127.0.0.2", listeners[0].port()},
                     {"twin", "127.0.0.1", listeners[1].port()}};
  std::array<std::exception_ptr, 2> errors;
  std::array<std::thread, 2> threads;
  for (size_t rank = 0; rank < 2; ++rank) {
    threads[rank] = std::thread([&, rank] {
      try {
        TcpOptions mine = options;
        mine.rank = static_cast<Rank>(rank);
        TcpWorld world(mine, std::move(listeners[rank]));
        world.run(exchange);
        EXPECT_FALSE(world.shares_memory_with(static_cast<Rank>(1 - rank)));
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    EXPECT_NO_THROW(if (error) std::rethrow_exception(error));
  }
}

}  // namespace
}  // namespace syrtos::world

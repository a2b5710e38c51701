#pragma once

// Programs that move sizes about in a simulated cluster and note when.

#include <memory>
#include <vector>

#include "syrtos/world/sim/sim.h"
#include "syrtos/world/started.h"

namespace syrtos::world {

inline Task<> send_size(World& world, Rank to, Tag tag, size_t bytes, int priority = 0) {
  const Source source{nullptr, bytes};
  co_await world.send(to, tag, source, priority);
}

inline Task<> recv_size(World& world, Rank from, Tag tag, size_t bytes) {
  const Target target{nullptr, bytes};
  co_await world.recv(from, tag, target);
}

/// One message, with a lane to itself.
struct Transfer {
  Rank from = 0;
  Rank to = 1;
  size_t bytes = 0;
  double start = 0;
  int priority = 0;
  double sent = -1;     ///< when send was done
  double arrived = -1;  ///< when recv was done
};

inline Task<> send_transfer(World& world, Transfer& transfer, Tag tag) {
  co_await world.sleep(transfer.start);
  co_await send_size(world, transfer.to, tag, transfer.bytes, transfer.priority);
  transfer.sent = world.now();
}

inline Task<> recv_transfer(World& world, Transfer& transfer, Tag tag) {
  co_await recv_size(world, transfer.from, tag, transfer.bytes);
  transfer.arrived = world.now();
}

inline Task<> do_transfers(World& world, std::vector<Transfer>& transfers) {
  std::vector<Started> tasks;
  for (size_t i = 0; i < transfers.size(); ++i) {
    const Tag tag{Purpose::control, static_cast<uint16_t>(i), 0};
    if (transfers[i].from == world.rank()) {
      tasks.emplace_back(world, send_transfer(world, transfers[i], tag));
    }
    if (transfers[i].to == world.rank()) {
      tasks.emplace_back(world, recv_transfer(world, transfers[i], tag));
    }
  }
  co_await join_all(world, tasks);
}

/// Runs them and notes their times.
inline std::vector<Transfer> simulated(SimCluster& cluster, std::vector<Transfer> transfers) {
  run_all(cluster, [&](World& world) { return do_transfers(world, transfers); });
  return transfers;
}

inline std::vector<Transfer> simulated(SimOptions options, std::vector<Transfer> transfers) {
  options.carry_data = false;
  SimCluster cluster(std::move(options));
  return simulated(cluster, std::move(transfers));
}

/// Each rank sends to the next and receives from the previous one.
inline Task<> ring_steps(World& world, int steps, size_t bytes) {
  const Rank next = (world.rank() + 1) % world.size();
  const Rank previous = (world.rank() + world.size() - 1) % world.size();
  for (int step = 0; step < steps; ++step) {
    const Tag tag{Purpose::all_reduce, 0, static_cast<uint32_t>(step)};
    Started sending(world, send_size(world, next, tag, bytes));
    co_await recv_size(world, previous, tag, bytes);
    co_await sending.join();
  }
}

/// All workers send to the server at once, which then sends to all of them at once.
inline Task<> serve_all(World& world, size_t bytes) {
  const Tag push{Purpose::push, 0, 0};
  const Tag pull{Purpose::pull, 0, 0};
  if (world.rank() > 0) {
    co_await send_size(world, 0, push, bytes);
    co_await recv_size(world, 0, pull, bytes);
    co_return;
  }
  for (Rank worker = 1; worker < world.size(); ++worker) {
    co_await recv_size(world, worker, push, bytes);
  }
  std::vector<Started> sends;
  for (Rank worker = 1; worker < world.size(); ++worker) {
    sends.emplace_back(world, send_size(world, worker, pull, bytes));
  }
  co_await join_all(world, sends);
}

}  // namespace syrtos::world

#pragma once

#include <exception>
#include <utility>
#include <vector>

#include "syrtos/world/cluster.h"
#include "syrtos/world/tcp/tcp.h"

namespace syrtos::world {

/// Ranks in this process, each with its own threads, over the loopback interface. Every run makes
/// new connections. Of the options, rank, members and token are set here. Ranks that are `apart` do
/// as if each were on a host of its own.
class TcpCluster final : public Cluster {
 public:
  explicit TcpCluster(int ranks, TcpOptions options = {}, bool apart = false)
      : ranks_(ranks), options_(std::move(options)), apart_(apart) {}

  int size() const override { return ranks_; }
  std::vector<std::exception_ptr> run(const RankProgram& program) override;

 private:
  const int ranks_;
  const TcpOptions options_;
  const bool apart_;
};

}  // namespace syrtos::world

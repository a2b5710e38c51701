#include "syrtos/world/tcp/tcp.h"

#include "syrtos/world/tcp/cluster.h"
#include "tests/world/conformance.h"

namespace syrtos::world {
namespace {

WorldKind kind(const std::string& name, int connections, bool shared_memory) {
  TcpOptions options;
  options.connections = connections;
  options.shared_memory = shared_memory;
  return {name, [=](int ranks) { return std::make_unique<TcpCluster>(ranks, options); }};
}

INSTANTIATE_TEST_SUITE_P(Tcp, WorldConformance,
                         testing::Values(kind("one connection", 1, false),
                                         kind("three connections", 3, false),
                                         kind("shared memory", 1, true),
                                         kind("shared memory and three connections", 3, true)));

}  // namespace
}  // namespace syrtos::world

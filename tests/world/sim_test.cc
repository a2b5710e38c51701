#include "syrtos/world/sim/sim.h"

// The suite's tests are defined by its header: in this binary, each world has them under its name.
#define WorldConformance SimConformance
#include "tests/world/conformance.h"

namespace syrtos::world {
namespace {

std::unique_ptr<Cluster> gigabit_cluster(int ranks) {
  return std::make_unique<SimCluster>(uniform_cluster(ranks, 125e6, 50e-6));
}

INSTANTIATE_TEST_SUITE_P(Sim, SimConformance, testing::Values(WorldKind{"sim", gigabit_cluster}));

}  // namespace
}  // namespace syrtos::world

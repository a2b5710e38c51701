#pragma once

#include "syrtos/strategy/meter.h"
#include "syrtos/strategy/team.h"
#include "syrtos/train/network/evaluate.h"
#include "syrtos/world/task.h"
#include "syrtos/world/world.h"

namespace syrtos::train {

/// Measures a network whose parts several workers have: batches follow each other through them. All
/// workers of a replica call it with the same shard; who has the last part gets the result, the
/// others one without samples.
world::Task<Evaluation> evaluate_parts(world::World& world, const strategy::Team& team,
                                       strategy::Meter& meter, CompiledNetwork& network,
                                       const TestData& test);

}  // namespace syrtos::train

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "syrtos/strategy/meeting.h"
#include "syrtos/train/checkpoint/snapshot.h"

namespace syrtos::train {

/// All workers compare what they are about to do (key -> value, see fingerprint.h). Throws
/// RequestError with the names of those that differ from worker 0. Everybody leaves with worker 0's
/// position.
world::Task<Position> compare_and_start(world::World& world, strategy::Meetings& meetings,
                                        const nlohmann::json& fingerprint, const Position& mine);

}  // namespace syrtos::train

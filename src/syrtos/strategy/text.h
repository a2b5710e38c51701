#pragma once

#include <string>

#include "syrtos/strategy/strategy.h"

namespace syrtos::strategy {

using world::Tag;

/// Waits for a message however long nothing is said; only the loss of the rank ends it.
Task<> receive_patiently(World& world, Rank from, Tag tag, world::Target target);

/// A text from one rank to another: its size under this tag, itself under the next item. `patient`:
/// it may be long until it comes.
Task<> send_text(World& world, Rank to, Tag tag, const std::string& text);
Task<std::string> receive_text(World& world, Rank from, Tag tag, bool patient);

}  // namespace syrtos::strategy

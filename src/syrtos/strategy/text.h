#pragma once

#include <string>

#include "syrtos/strategy/strategy.h"

namespace syrtos::strategy {

using world::Tag;

/// After so many deadlines in which a rank said nothing that others wait for, it is given up
/// although it is there: its disk may never answer. With the usual deadline that is an hour.
constexpr double kMostDeadlines = 6;

/// Waits for a message however long nothing is said; only the loss of the rank ends it, or, if
/// `silence` is given, so many seconds without a word of that rank.
Task<> receive_patiently(World& world, Rank from, Tag tag, world::Target target,
                         double silence = world::Patience::kForever);

/// A text from one rank to another: its size under this tag, itself under the next item.
/// `patience`: it may be long until it comes.
Task<> send_text(World& world, Rank to, Tag tag, const std::string& text);
Task<std::string> receive_text(World& world, Rank from, Tag tag, world::Patience patience = {});

}  // namespace syrtos::strategy

#pragma once

namespace syrtos::launch {

// What begins the lines of a visit. A login shell may print others before.
constexpr const char* kFactsWord = "syrtos-facts ";      ///< there: an object, with the port
constexpr const char* kClockWord = "syrtos-clock ";      ///< asked here, answered there: seconds
constexpr const char* kPeersWord = "syrtos-peers ";      ///< here: whom to reach
constexpr const char* kReachesWord = "syrtos-reaches ";  ///< there: what stood against it

/// The launcher among the peers.
constexpr const char* kLauncher = "launcher";

}  // namespace syrtos::launch

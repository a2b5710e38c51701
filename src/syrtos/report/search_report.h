#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "syrtos/search/directory.h"

namespace syrtos::report {

/// How much of the differences between trials one parameter explains by itself, from 0 to 1, less
/// what chance would: trials are grouped by its values (numbers into four groups of equal size),
/// and what lies between the groups is compared with all of it.
struct Importance {
  std::string key;
  double share = 0;
  int trials = 0;  ///< in which it counts
};
/// The most important first.
std::vector<Importance> importance_of(const search::Plan& plan, const search::Ledger& ledger);

/// How much of their time the slots were busy, and what that is against one host's slots.
struct SlotUse {
  double busy_s = 0;  ///< of all slots
  int hosts = 0;
  double wall_s = 0;
  /// How long one of the hosts alone would have taken, against this search: with hosts that do the
  /// same in the same time.
  double speed_up = 0;
};
SlotUse use_of(const search::Ledger& ledger);

/// Trials, the best ones first; those without a value last.
std::vector<const search::Trial*> ranked(const search::Ledger& ledger);

/// A table of the best `top` trials (0: all), what counts, and the winner.
std::string search_text(const search::Directory& directory, size_t top);

/// Everything, for programs and for the page.
nlohmann::json search_json(const search::Directory& directory);

}  // namespace syrtos::report

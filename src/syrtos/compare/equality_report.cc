#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "syrtos/compare/equality.h"

namespace syrtos::compare {

using nlohmann::json;

json to_json(const Equality& equality) {
  json rows = json::array();
  for (const EqualityRow& row : equality.rows) {
    rows.push_back({{"what", row.what},
                    {"precision", to_string(row.precision)},
                    {"largest_difference", row.largest},
                    {"where", row.where},
                    {"tolerance", row.tolerance},
                    {"holds", row.holds},
                    {"verdict", row.verdict}});
  }
  return {{"network", equality.network},
          {"peer", equality.peer},
          {"version", equality.version},
          {"holds", equality.holds()},
          {"cause", equality.cause},
          {"failed", equality.failed},
          {"rows", rows}};
}

std::string equality_text(const std::vector<Equality>& all) {
  std::string text;
  for (const Equality& one : all) {
    text += fmt::format("{} in {}{}{}: {}\n", one.network, one.peer, one.version.empty() ? "" : " ",
                        one.version,
                        !one.failed.empty() ? "could not be compared"
                        : one.holds()       ? "equal"
                                            : "differs");
    if (!one.rows.empty()) {
      text +=
          fmt::format("  {:<24} {:<4} {:>10} {:>9}  {}\n", "", "", "largest", "allowed", "verdict");
    }
    for (const EqualityRow& row : one.rows) {
      const bool number = row.what != "shapes";
      text += fmt::format("  {:<24} {:<4} {:>10} {:>9}  {}\n", row.what, to_string(row.precision),
                          number ? fmt::format("{:.1e}", row.largest) : "",
                          number ? fmt::format("{:.0e}", row.tolerance) : "",
                          row.verdict == "equal" && !row.where.empty() && row.largest > 0
                              ? fmt::format("equal, most in {}", row.where)
                              : row.verdict);
    }
    if (!one.failed.empty()) text += "  " + one.failed + "\n";
    if (!one.cause.empty()) text += fmt::format("  the first that differs is {}\n", one.cause);
    text += "\n";
  }
  return text;
}

}  // namespace syrtos::compare

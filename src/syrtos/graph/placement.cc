#include "syrtos/graph/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <set>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/graph/node_work.h"

namespace syrtos::graph {

namespace {

/// No piece begins between the first and the last layer that use the same weight.
void keep_shared_together(const Graph& graph, std::vector<Unit>& units) {
  std::map<ValueId, size_t> first_user;  // weight -> unit
  for (size_t u = 0; u < units.size(); ++u) {
    for (NodeId n = units[u].first; n < units[u].last; ++n) {
      for (const ValueId input : graph.nodes()[static_cast<size_t>(n)].inputs) {
        if (input == kNone || !is_kept(graph, input)) continue;
        const size_t first = first_user.emplace(input, u).first->second;
        for (size_t between = first + 1; between <= u; ++between) units[between].can_begin = false;
      }
    }
  }
}

std::vector<std::string> layers_of(const std::vector<Unit>& units) {
  std::vector<std::string> layers;
  for (const Unit& unit : units) {
    if (!unit.layer.empty()) layers.push_back(unit.layer);
  }
  return layers;
}

/// A word of --split by names: "conv3" or "conv3=2".
struct Named {
  size_t unit = 0;
  int piece = -1;  ///< -1: in the order of the network
};

size_t find_unit(const std::vector<Unit>& units, const std::string& name) {
  for (size_t u = 0; u < units.size(); ++u) {
    if (units[u].layer == name) return u;
  }
  for (size_t u = 0; u < units.size(); ++u) {
    if (units[u].layer.starts_with(name + ".")) return u;
  }
  std::vector<std::string> known = layers_of(units);
  std::vector<std::string> words = known;
  words.insert(words.end(), {"none", "columns", "branches", "auto"});
  const std::string close = did_you_mean(name, words);
  constexpr size_t kShown = 12;
  const bool more = known.size() > kShown;
  if (more) known.resize(kShown);
  fail_request(
      "--split: no layer '{}' with weights; {}layers: {}{}; or one of none, columns, layers:N, "
      "branches, auto",
      name, close, fmt::join(known, ", "), more ? " ..." : "");
}

Named parse_name(const std::vector<Unit>& units, const std::string& word) {
  const size_t equals = word.rfind('=');
  if (equals == std::string::npos) return {find_unit(units, word), -1};
  int number = 0;
  const char* begin = word.data() + equals + 1;
  const char* end = word.data() + word.size();
  const auto [last, error] = std::from_chars(begin, end, number);
  constexpr int kMost = 4096;
  if (error != std::errc() || last != end || number < 1 || number > kMost) {
    fail_request(
        "--split: expected a layer and the number of its part, such as conv3=2, found '{}'", word);
  }
  return {find_unit(units, word.substr(0, equals)), number - 1};
}

/// Bytes of the values that are made before each unit and used from it on.
std::vector<double> crossing_before(const Graph& graph, const std::vector<Unit>& units) {
  std::vector<size_t> unit_of;
  for (size_t u = 0; u < units.size(); ++u) {
    unit_of.resize(static_cast<size_t>(units[u].last), u);
  }
  std::map<ValueId, size_t> last_user;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    for (const ValueId input : graph.nodes()[n].inputs) {
      if (input != kNone && graph.value(input).producer != kNone) last_user[input] = unit_of[n];
    }
  }
  std::vector<double> crossing(units.size() + 1);
  for (const auto& [value, last] : last_user) {
    const size_t made = unit_of[static_cast<size_t>(graph.value(value).producer)];
    for (size_t u = made + 1; u <= last; ++u) crossing[u] += bytes_of(graph, value);
  }
  return crossing;
}

/// Marks where the piece changes.
Placement placement_of(const std::vector<Unit>& units, const std::vector<int>& piece_of_unit,
                       int pieces) {
  Placement placement{pieces, {}};
  int current = 0;
  for (size_t u = 0; u < units.size(); ++u) {
    if (piece_of_unit[u] == current || units[u].layer.empty()) continue;
    current = piece_of_unit[u];
    placement.marks.push_back({units[u].layer, current});
  }
  return placement;
}

}  // namespace

std::vector<Unit> units_of(const Graph& graph) {
  std::vector<Unit> units;
  std::set<std::string> seen;
  for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes().size()); ++n) {
    const Node& node = graph.nodes()[static_cast<size_t>(n)];
    const bool begins = has_weights(graph, node) && seen.insert(node.name).second;
    if (begins && units.size() == 1 && units[0].layer.empty()) {
      units[0].layer = node.name;  // what comes before the first layer belongs to it
    } else if (begins || units.empty()) {
      units.push_back({begins ? node.name : "", n, n});
    }
    units.back().last = n + 1;
    units.back().work += work_of(graph, node);
  }
  keep_shared_together(graph, units);
  return units;
}

Placement place_consecutively(const Graph& graph, int pieces) {
  const std::vector<Unit> units = units_of(graph);
  const auto places =
      std::count_if(units.begin(), units.end(), [](const Unit& unit) { return unit.can_begin; });
  if (pieces > places) {
    fail_request(
        "--split: {} parts of a network that can be cut into {} at most, one for each "
        "layer with weights: use layers:{} or fewer",
        pieces, places, places);
  }
  std::vector<double> until{0};  // work of all units before
  for (const Unit& unit : units) until.push_back(until.back() + unit.work);
  const std::vector<double> crossing = crossing_before(graph, units);
  // A piece is as slow as its work, or as what comes in or goes out; of equals that with the
  // smallest messages is best.
  const auto cost = [&](size_t first, size_t end) {
    constexpr double kWorkOfAByte = 400;  // on a usual wire
    const double bytes = std::max(crossing[first], crossing[end]);
    return std::max(until[end] - until[first], kWorkOfAByte * bytes) + bytes;
  };
  // least[p][u]: the most that one piece costs when p pieces end before unit u.
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const size_t count = units.size();
  std::vector<std::vector<double>> least(static_cast<size_t>(pieces) + 1,
                                         std::vector<double>(count + 1, kNever));
  std::vector<std::vector<size_t>> begin(least.size(), std::vector<size_t>(count + 1));
  least[0][0] = 0;
  for (size_t p = 1; p < least.size(); ++p) {
    for (size_t end = 1; end <= count; ++end) {
      if (end < count && !units[end].can_begin) continue;
      for (size_t first = 0; first < end; ++first) {
        const double most = std::max(least[p - 1][first], cost(first, end));
        if (most >= least[p][end]) continue;
        least[p][end] = most;
        begin[p][end] = first;
      }
    }
  }
  std::vector<int> piece_of(count);
  for (size_t p = least.size() - 1, end = count; p > 0; --p) {
    for (size_t u = begin[p][end]; u < end; ++u) piece_of[u] = static_cast<int>(p) - 1;
    end = begin[p][end];
  }
  return placement_of(units, piece_of, pieces);
}

Placement place_by_names(const Graph& graph, std::span<const std::string> names) {
  const std::vector<Unit> units = units_of(graph);
  std::map<size_t, Named> begins;
  bool any_number = false;
  for (const std::string& word : names) {
    const Named named = parse_name(units, word);
    if (!begins.emplace(named.unit, named).second) {
      fail_request("--split: layer {} begins two parts: name each layer once",
                   units[named.unit].layer);
    }
    any_number = any_number || named.piece >= 0;
  }
  if (!any_number && begins.contains(0)) {
    fail_request(
        "--split: the first part begins with {}, the first layer, anyway: name those that begin "
        "the others",
        units[0].layer);
  }
  std::vector<int> piece_of(units.size());
  int current = 0;
  int pieces = 1;
  for (size_t u = 0; u < units.size(); ++u) {
    if (const auto found = begins.find(u); found != begins.end()) {
      if (any_number && found->second.piece < 0) {
        fail_request("--split: expected a number for each layer or for none, found none for {}",
                     units[u].layer);
      }
      current = any_number ? found->second.piece : current + 1;
    }
    piece_of[u] = current;
    pieces = std::max(pieces, current + 1);
  }
  for (int piece = 0; piece < pieces; ++piece) {
    if (std::find(piece_of.begin(), piece_of.end(), piece) != piece_of.end()) continue;
    fail_request("--split: part {} of {} has no layers", piece + 1, pieces);
  }
  return placement_of(units, piece_of, pieces);
}

std::string layers_text(const Graph& graph, const Placement& placement) {
  std::vector<std::string> first(static_cast<size_t>(placement.pieces));
  std::vector<std::string> last = first;
  const std::vector<int> piece_of = pieces_of(graph, placement);
  for (const Unit& unit : units_of(graph)) {
    const auto piece = static_cast<size_t>(piece_of[static_cast<size_t>(unit.last - 1)]);
    // The node with the weights is in its piece; those around it may have moved.
    size_t own = piece;
    for (NodeId n = unit.first; n < unit.last; ++n) {
      if (has_weights(graph, graph.nodes()[static_cast<size_t>(n)])) {
        own = static_cast<size_t>(piece_of[static_cast<size_t>(n)]);
        break;
      }
    }
    if (first[own].empty()) first[own] = unit.layer;
    last[own] = unit.layer;
  }
  std::vector<std::string> words;
  for (size_t piece = 0; piece < first.size(); ++piece) {
    words.push_back(first[piece] == last[piece] ? first[piece]
                                                : first[piece] + " to " + last[piece]);
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace syrtos::graph

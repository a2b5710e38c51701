#include "syrtos/planner/even_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace syrtos::planner {

namespace {

constexpr double kAsEven = 1.02;  // times the most even parts: for fewer moves

/// The part of each unit, where parts begin with these ones.
std::vector<int> parts_of_units(size_t units, const std::vector<size_t>& begins) {
  std::vector<int> part_of(units);
  for (const size_t begin : begins) {
    for (size_t unit = begin; unit < units; ++unit) ++part_of[unit];
  }
  return part_of;
}

bool is_consecutive(const graph::Placement& placement) {
  for (size_t i = 0; i < placement.marks.size(); ++i) {
    if (placement.marks[i].piece != static_cast<int>(i) + 1) return false;
  }
  return static_cast<int>(placement.marks.size()) + 1 == placement.pieces;
}

/// Where parts begin, beside the first: none slower than `most`, as few units moved as can be.
std::vector<size_t> cut_below(const std::vector<graph::Unit>& units,
                              const std::vector<double>& until, const std::vector<int>& part_of,
                              size_t parts, double most) {
  const size_t count = units.size();
  constexpr size_t kNever = std::numeric_limits<size_t>::max();
  std::vector<std::vector<size_t>> least(parts + 1, std::vector<size_t>(count + 1, kNever));
  std::vector<std::vector<size_t>> begin(parts + 1, std::vector<size_t>(count + 1));
  least[0][0] = 0;
  for (size_t part = 0; part < parts; ++part) {
    for (size_t end = part + 1; end <= count; ++end) {
      if (end < count && !units[end].can_begin) continue;
      size_t moved = 0;
      for (size_t first = end; first-- > part;) {
        moved += part_of[first] == static_cast<int>(part) ? 0 : 1;
        if (until[end] - until[first] > most) break;
        if (least[part][first] == kNever) continue;
        const size_t sum = least[part][first] + moved;
        if (sum >= least[part + 1][end]) continue;
        least[part + 1][end] = sum;
        begin[part + 1][end] = first;
      }
    }
  }
  std::vector<size_t> begins;
  if (least[parts][count] == kNever) return begins;
  for (size_t part = parts, end = count; part > 0; --part) begins.push_back(end = begin[part][end]);
  std::reverse(begins.begin(), begins.end());
  begins.erase(begins.begin());
  return begins;
}

std::vector<EvenParts::Move> moves_of(const std::vector<graph::Unit>& units,
                                      const std::vector<int>& before,
                                      const std::vector<int>& after) {
  std::vector<EvenParts::Move> moves;
  bool goes_on = false;
  for (size_t u = 0; u < units.size(); ++u) {
    const bool moved = before[u] != after[u];
    if (moved && goes_on && moves.back().from == before[u] && moves.back().to == after[u]) {
      moves.back().last = units[u].layer;
    } else if (moved) {
      moves.push_back({units[u].layer, units[u].layer, before[u], after[u]});
    }
    goes_on = moved;
  }
  return moves;
}

}  // namespace

EvenParts even_parts(const NetworkGraph& network, const strategy::Split& split,
                     const std::vector<double>& seconds) {
  const std::vector<graph::Unit>& units = network.units();
  const size_t parts = seconds.size();
  const int pieces = static_cast<int>(parts);
  if (!is_consecutive(network.cut(split, pieces)->placement)) return {};
  const std::vector<int> before = parts_of_units(units.size(), network.begins_of(split, pieces));
  std::vector<double> work(parts);
  for (size_t u = 0; u < units.size(); ++u) work[static_cast<size_t>(before[u])] += units[u].work;
  std::vector<double> until{0};
  for (size_t u = 0; u < units.size(); ++u) {
    const auto part = static_cast<size_t>(before[u]);
    until.push_back(until.back() +
                    (work[part] > 0 ? seconds[part] * units[u].work / work[part] : 0));
  }
  const double slowest = *std::max_element(seconds.begin(), seconds.end());
  double low = until.back() / static_cast<double>(parts);
  double high = slowest;
  for (int i = 0; i < 30 && high > 1.001 * low; ++i) {
    const double middle = (low + high) / 2;
    (cut_below(units, until, before, parts, middle).empty() ? low : high) = middle;
  }
  const std::vector<size_t> begins = cut_below(units, until, before, parts, kAsEven * high);
  if (begins.empty()) return {};
  const std::vector<int> after = parts_of_units(units.size(), begins);
  EvenParts even{.split = network.split_at(begins, pieces),
                 .moves = moves_of(units, before, after)};
  std::vector<double> then(parts);
  for (size_t u = 0; u < units.size(); ++u) {
    then[static_cast<size_t>(after[u])] += until[u + 1] - until[u];
  }
  even.slowest_s = *std::max_element(then.begin(), then.end());
  if (even.slowest_s >= slowest) return {};
  return even;
}

std::string moves_text(const std::vector<EvenParts::Move>& moves) {
  std::string text;
  for (const EvenParts::Move& move : moves) {
    const std::string layers =
        move.last == move.first ? move.first : move.first + " ... " + move.last;
    text += fmt::format("{}{} to part {}", text.empty() ? "" : ", ", layers, move.to + 1);
  }
  return text;
}

}  // namespace syrtos::planner

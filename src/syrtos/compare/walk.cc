#include "syrtos/compare/walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace syrtos::compare {

namespace {

constexpr const char* kGradient = "convolution gradient";
constexpr const char* kWeightGradient = "convolution weight gradient";
constexpr const char* kDataGradient = "convolution data gradient";

std::map<std::string, double> sums(const SideTimes& side) {
  std::map<std::string, double> result;
  for (const OperatorTime& one : side.operators) result[one.kind] += one.seconds;
  return result;
}

void join_gradients(std::map<std::string, double>& kinds) {
  for (const char* kind : {kWeightGradient, kDataGradient}) {
    const auto found = kinds.find(kind);
    if (found == kinds.end()) continue;
    kinds[kGradient] += found->second;
    kinds.erase(kind);
  }
}

void set_shares(std::vector<Difference>& all) {
  double whole = 0;
  for (const Difference& one : all) whole += one.theirs_s - one.ours_s;
  for (Difference& one : all) {
    one.share = whole == 0 ? 0 : (one.theirs_s - one.ours_s) / whole;
  }
  std::sort(all.begin(), all.end(),
            [](const Difference& a, const Difference& b) { return a.share > b.share; });
}

/// The operator of these kinds that takes longest.
std::string longest(const SideTimes& side, const std::string& kind) {
  const OperatorTime* most = nullptr;
  for (const OperatorTime& one : side.operators) {
    const bool fits =
        one.kind == kind ||
        (kind == kGradient && (one.kind == kWeightGradient || one.kind == kDataGradient));
    if (fits && (most == nullptr || one.seconds > most->seconds)) most = &one;
  }
  return most == nullptr ? "" : fmt::format("{}, {:.1f} ms", most->name, 1e3 * most->seconds);
}

std::string plain(const std::string& part) {
  if (part == "forward" || part == "backward") return "the " + part + " pass";
  if (part == "load") return "loading";
  if (part == "update") return "the update of the weights";
  return part == "network" ? "the network" : part;
}

std::vector<Difference> parts_of(const SideTimes& ours, const SideTimes& theirs, bool together) {
  std::vector<Difference> parts;
  for (const auto& [part, seconds] : theirs.parts) {
    const auto found = ours.parts.find(part);
    if (found != ours.parts.end()) {
      parts.push_back({part, found->second.median(), seconds.median(), 0});
    }
  }
  if (together && !parts.empty()) {  // what distributing adds
    parts.push_back({"network", std::max(ours.step_s.median() - ours.local_s(), 0.0),
                     std::max(theirs.step_s.median() - theirs.local_s(), 0.0), 0});
  }
  set_shares(parts);
  return parts;
}

std::string words(const Walk& walk) {
  const bool slower = walk.theirs_s > walk.ours_s;
  const double factor = slower ? walk.theirs_s / walk.ours_s : walk.ours_s / walk.theirs_s;
  std::string text = fmt::format(
      "{}{} is {:.2f} times {} than ours{} ({:.1f} against {:.1f} ms per step)", walk.side.name,
      walk.together ? " (" + walk.side.mode + ")" : "", factor, slower ? "slower" : "faster",
      walk.together ? "" : " on one worker", 1e3 * walk.theirs_s, 1e3 * walk.ours_s);
  if (walk.once) text += ", measured once";
  if (walk.noise) {
    return text + ": within the spread of the measurements, so nothing follows from it";
  }
  if (!walk.parts.empty() && walk.parts[0].share > 0) {
    const Difference& part = walk.parts[0];
    text += fmt::format(": {:.0f} % of it in {} ({:.1f} against {:.1f} ms)",
                        100 * std::min(part.share, 1.0), plain(part.name), 1e3 * part.theirs_s,
                        1e3 * part.ours_s);
  }
  if (!walk.kinds.empty() && walk.kinds[0].share > 0) {
    const Difference& kind = walk.kinds[0];
    text += fmt::format(
        "; of what the operators differ by, {:.0f} % in {} ({:.1f} against {:.1f} ms",
        100 * std::min(kind.share, 1.0), kind.name, 1e3 * kind.theirs_s, 1e3 * kind.ours_s);
    if (!walk.their_operator.empty()) text += "; " + walk.their_operator;
    text += ")";
  }
  return text;
}

}  // namespace

std::vector<Difference> kinds_of(const SideTimes& ours, const SideTimes& theirs) {
  std::map<std::string, double> mine = sums(ours);
  std::map<std::string, double> other = sums(theirs);
  if (mine.contains(kGradient) || other.contains(kGradient)) {
    join_gradients(mine);
    join_gradients(other);
  }
  std::set<std::string> names;
  for (const auto& [name, seconds] : mine) names.insert(name);
  for (const auto& [name, seconds] : other) names.insert(name);
  std::vector<Difference> result;
  for (const std::string& name : names) result.push_back({name, mine[name], other[name], 0});
  set_shares(result);
  return result;
}

std::vector<Walk> walk_down(const NetworkTimes& times) {
  std::vector<Walk> result;
  const auto alone = times.sides.find({"syrtos", "sync"});
  if (alone == times.sides.end()) return result;
  for (const auto& [side, theirs] : times.sides) {
    if (side.name == "syrtos") continue;
    if (side.mode != "sync" && theirs.step_s.values.empty()) continue;
    const auto same = times.sides.find({"syrtos", side.mode});
    const SideTimes& ours = same == times.sides.end() ? alone->second : same->second;
    Walk walk;
    walk.side = side;
    walk.together = !theirs.step_s.values.empty() && !ours.step_s.values.empty();
    // Parts and operators of one worker do not depend on the mode.
    const SideTimes& their_share =
        times.sides.contains({side.name, "sync"}) ? times.sides.at({side.name, "sync"}) : theirs;
    SideTimes mine = alone->second;
    SideTimes other = their_share;
    mine.step_s = ours.step_s;
    other.step_s = theirs.step_s;
    if (!walk.together && (other.parts.empty() || mine.parts.empty())) continue;
    walk.ours_s = walk.together ? mine.step_s.median() : mine.local_s();
    walk.theirs_s = walk.together ? other.step_s.median() : other.local_s();
    const double spread =
        walk.together ? mine.step_s.spread() * walk.ours_s + other.step_s.spread() * walk.theirs_s
                      : 0;
    walk.once = walk.together && other.step_s.values.size() < 2;
    walk.noise = std::abs(walk.theirs_s - walk.ours_s) < spread;
    walk.parts = parts_of(mine, other, walk.together);
    if (!mine.operators.empty() && !other.operators.empty()) {
      walk.kinds = kinds_of(mine, other);
      walk.their_operator = longest(other, walk.kinds[0].name);
      walk.our_operator = longest(mine, walk.kinds[0].name);
    }
    walk.text = words(walk);
    result.push_back(std::move(walk));
  }
  return result;
}

}  // namespace syrtos::compare

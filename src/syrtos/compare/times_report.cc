#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "syrtos/base/format.h"
#include "syrtos/compare/walk.h"

namespace syrtos::compare {

using nlohmann::json;

namespace {

json to_json(const Repeated& repeated) {
  return {
      {"median", repeated.median()}, {"spread", repeated.spread()}, {"values", repeated.values}};
}

json to_json(const std::vector<Difference>& all) {
  json result = json::array();
  for (const Difference& one : all) {
    result.push_back({{"name", one.name},
                      {"ours_s", one.ours_s},
                      {"theirs_s", one.theirs_s},
                      {"share", one.share}});
  }
  return result;
}

json to_json(const Walk& walk) {
  return {{"peer", walk.side.name},
          {"mode", walk.side.mode},
          {"together", walk.together},
          {"ours_s", walk.ours_s},
          {"theirs_s", walk.theirs_s},
          {"within_noise", walk.noise},
          {"parts", to_json(walk.parts)},
          {"operators", to_json(walk.kinds)},
          {"text", walk.text}};
}

json to_json(const Side& side, const SideTimes& times) {
  json result = {{"name", side.name}, {"mode", side.mode}, {"failed", json::object()}};
  if (!times.step_s.values.empty()) {
    double sent = 0;
    for (const auto& [name, bytes] : times.wire) sent += bytes;
    result["cluster"] = {{"step_s", to_json(times.step_s)}, {"images_per_s", times.images_per_s},
                         {"cpu_s_per_step", times.cpu_s},   {"memory", times.memory},
                         {"bytes_per_step", sent},          {"wire", times.wire}};
  }
  for (const auto& [part, repeated] : times.parts) result["parts"][part] = to_json(repeated);
  for (const OperatorTime& one : times.operators) {
    result["operators"].push_back(
        {{"name", one.name}, {"kind", one.kind}, {"seconds", one.seconds}});
  }
  for (const auto& [phase, why] : times.failed) result["failed"][std::to_string(phase)] = why;
  for (const auto& [phase, why] : times.absent) result["absent"][std::to_string(phase)] = why;
  return result;
}

std::string milliseconds(const Repeated& repeated) {
  if (repeated.values.empty()) return "-";
  if (repeated.values.size() == 1) return fmt::format("{:.1f}", 1e3 * repeated.median());
  return fmt::format("{:.1f} ±{:.0f}%", 1e3 * repeated.median(), 100 * repeated.spread());
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string cluster_table(const NetworkTimes& times) {
  std::string text;
  for (const auto& [side, one] : times.sides) {
    if (one.step_s.values.empty()) continue;
    double sent = 0;
    for (const auto& [name, bytes] : one.wire) sent += bytes;
    text += fmt::format("  {:<12} {:<6} {:>16} {:>10.0f} {:>10} {:>9.2f} {:>9}\n", side.name,
                        side.mode, milliseconds(one.step_s), one.images_per_s, format_bytes(sent),
                        one.cpu_s, format_bytes(one.memory));
  }
  if (text.empty()) return text;
  return fmt::format("  {:<12} {:<6} {:>16} {:>10} {:>10} {:>9} {:>9}\n", "together", "",
                     "ms per step", "images/s", "sent", "CPU s", "memory") +
         text;
}

std::string parts_table(const NetworkTimes& times) {
  std::string text;
  for (const auto& [side, one] : times.sides) {
    if (one.parts.empty()) continue;
    text += fmt::format("  {:<12}", side.name);
    for (const char* part : {"load", "forward", "backward", "update"}) {
      text += fmt::format(" {:>14}", milliseconds(one.parts.at(part)));
    }
    text += fmt::format(" {:>9.1f}\n", 1e3 * one.local_s());
  }
  if (text.empty()) return text;
  return fmt::format("  {:<12} {:>14} {:>14} {:>14} {:>14} {:>9}\n", "alone, ms", "load", "forward",
                     "backward", "update", "sum") +
         text;
}

std::string kinds_table(const NetworkTimes& times) {
  std::string text;
  for (const Walk& walk : walk_down(times)) {
    if (walk.kinds.empty() || walk.side.mode != "sync") continue;
    text += fmt::format("  {:<30} {:>10} {:>12}\n", "operators, ms", "ours", walk.side.name);
    std::vector<Difference> kinds = walk.kinds;
    std::sort(kinds.begin(), kinds.end(), [](const Difference& a, const Difference& b) {
      return a.theirs_s + a.ours_s > b.theirs_s + b.ours_s;
    });
    for (const Difference& kind : kinds) {
      text += fmt::format("  {:<30} {:>10.2f} {:>12.2f}\n", kind.name, 1e3 * kind.ours_s,
                          1e3 * kind.theirs_s);
    }
  }
  return text;
}

}  // namespace

json to_json(const NetworkTimes& times) {
  json sides = json::array();
  for (const auto& [side, one] : times.sides) sides.push_back(to_json(side, one));
  json walks = json::array();
  for (const Walk& walk : walk_down(times)) walks.push_back(to_json(walk));
  return {
      {"network", times.network}, {"setting", times.setting}, {"sides", sides}, {"walk", walks}};
}

std::string times_text(const NetworkTimes& times) {
  std::string text =
      fmt::format("{}: batch {} of each of {} workers, {} thread{} each, f32\n", times.network,
                  times.setting["batch"].get<int64_t>(), times.setting["workers"].get<int64_t>(),
                  times.setting["threads"].get<int64_t>(),
                  times.setting["threads"].get<int64_t>() == 1 ? "" : "s");
  text += cluster_table(times) + parts_table(times) + kinds_table(times);
  for (const Walk& walk : walk_down(times)) text += "  " + walk.text + "\n";
  for (const auto& [side, one] : times.sides) {
    for (const auto* missing : {&one.failed, &one.absent}) {
      for (const auto& [phase, why] : *missing) {
        text +=
            fmt::format("  {} {}, phase {}: {}\n", side.name, side.mode, phase, first_line(why));
      }
    }
  }
  return text + "\n";
}

}  // namespace syrtos::compare

#include "syrtos/compare/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "syrtos/base/format.h"
#include "syrtos/report/html_page.h"
#include "syrtos/report/text.h"

namespace syrtos::compare {

namespace {

using report::escaped;

constexpr const char* kParts[] = {"load", "forward", "backward", "update", "network"};

std::string cell(const std::string& text, const char* kind = "") {
  return fmt::format("<td{}>{}</td>", *kind == 0 ? "" : fmt::format(" class=\"{}\"", kind),
                     escaped(text));
}

std::string table(const std::vector<std::string>& head, const std::string& rows) {
  std::string text = "<div class=\"scroll\"><table><thead><tr>";
  for (size_t i = 0; i < head.size(); ++i) {
    text += fmt::format("<th{}>{}</th>", i == 0 ? "" : " class=\"number\"", escaped(head[i]));
  }
  return text + "</tr></thead><tbody>" + rows + "</tbody></table></div>";
}

std::string milliseconds(double seconds) { return fmt::format("{:.1f}", 1e3 * seconds); }

/// One bar of parts, to a common scale.
std::string bar(const std::string& name, const std::vector<std::pair<std::string, double>>& parts,
                double whole) {
  double sum = 0;
  std::string pieces;
  for (const auto& [part, seconds] : parts) {
    sum += seconds;
    pieces +=
        fmt::format("<i style=\"width:{:.2f}%;background:var(--{})\" title=\"{}: {} ms\"></i>",
                    100 * seconds / whole, part, part, milliseconds(seconds));
  }
  return fmt::format(
      "<div class=\"row\"><span class=\"name\">{}</span><span class=\"bar\">{}</span>"
      "<span class=\"sum\">{} ms</span></div>",
      escaped(name), pieces, milliseconds(sum));
}

std::string bars(const NetworkTimes& times) {
  double whole = 0;
  std::vector<std::pair<std::string, std::vector<std::pair<std::string, double>>>> all;
  for (const auto& [side, one] : times.sides) {
    if (side.mode != "sync" && one.step_s.values.empty()) continue;
    const auto share = times.sides.find({side.name, "sync"});
    if (share == times.sides.end() || share->second.parts.empty()) continue;
    std::vector<std::pair<std::string, double>> parts;
    double sum = 0;
    for (const char* part : kParts) {
      const auto found = share->second.parts.find(part);
      double seconds = found == share->second.parts.end() ? 0 : found->second.median();
      if (std::string(part) == "network") {
        seconds = one.step_s.values.empty() ? 0 : std::max(one.step_s.median() - sum, 0.0);
      }
      sum += seconds;
      parts.emplace_back(part, seconds);
    }
    whole = std::max(whole, sum);
    all.emplace_back(one.step_s.values.empty() ? side.name : side.name + " " + side.mode, parts);
  }
  if (all.empty()) return {};
  std::string text = "<h3>A step</h3><div class=\"bars\">";
  for (const auto& [name, parts] : all) text += bar(name, parts, whole);
  text += "</div><p class=\"legend small\">";
  for (const char* part : kParts) {
    text += fmt::format("<span><i style=\"background:var(--{})\"></i>{}</span> ", part, part);
  }
  return text + "</p>";
}

std::string cluster(const NetworkTimes& times) {
  std::string rows;
  for (const auto& [side, one] : times.sides) {
    if (one.step_s.values.empty()) continue;
    double sent = 0;
    for (const auto& [name, bytes] : one.wire) sent += bytes;
    rows +=
        "<tr>" + cell(side.name + " " + side.mode) +
        cell(milliseconds(one.step_s.median()), "number") +
        cell(one.step_s.values.size() < 2 ? ""
                                          : fmt::format("± {:.0f} %", 100 * one.step_s.spread()),
             "number") +
        cell(fmt::format("{:.0f}", one.images_per_s), "number") +
        cell(format_bytes(sent), "number") + cell(fmt::format("{:.2f}", one.cpu_s), "number") +
        cell(format_bytes(one.memory), "number") + "</tr>";
  }
  if (rows.empty()) return {};
  return "<h3>Together</h3>" + table({"", "ms per step", "spread", "images/s", "sent per step",
                                      "CPU s per step", "memory"},
                                     rows);
}

std::string operators(const NetworkTimes& times) {
  std::string text;
  for (const Walk& walk : walk_down(times)) {
    if (walk.kinds.empty() || walk.side.mode != "sync") continue;
    std::vector<Difference> kinds = walk.kinds;
    std::sort(kinds.begin(), kinds.end(), [](const Difference& a, const Difference& b) {
      return std::max(a.theirs_s, a.ours_s) > std::max(b.theirs_s, b.ours_s);
    });
    double most = 0;
    for (const Difference& kind : kinds) most = std::max({most, kind.ours_s, kind.theirs_s});
    text += "<div><h3>Operators: ours and " + escaped(walk.side.name) +
            "</h3><p class=\"legend small\"><span><i style=\"background:var(--s0)\"></i>ours</span>"
            "<span><i style=\"background:var(--s1)\"></i>" +
            escaped(walk.side.name) + "</span></p><div class=\"pairs\">";
    for (const Difference& kind : kinds) {
      if (std::max(kind.ours_s, kind.theirs_s) < most / 200) continue;
      text += fmt::format(
          "<span class=\"name\">{}</span><span class=\"pair\"><i class=\"ours\" "
          "style=\"width:{:.2f}%\"></i><i class=\"theirs\" style=\"width:{:.2f}%\"></i></span>"
          "<span class=\"sum\">{}<br>{} ms</span>",
          escaped(kind.name), 100 * kind.ours_s / most, 100 * kind.theirs_s / most,
          milliseconds(kind.ours_s), milliseconds(kind.theirs_s));
    }
    text += "</div></div>";
  }
  return text.empty() ? text : "<div class=\"two\">" + text + "</div>";
}

std::string network_card(const NetworkTimes& times) {
  std::string text = fmt::format(
      "<section class=\"card\"><h2>{}</h2><p class=\"quiet\">batch {} of each of {} workers, {} "
      "thread{} each, f32</p>",
      escaped(times.network), times.setting["batch"].get<int64_t>(),
      times.setting["workers"].get<int64_t>(), times.setting["threads"].get<int64_t>(),
      times.setting["threads"].get<int64_t>() == 1 ? "" : "s");
  for (const Walk& walk : walk_down(times)) text += "<p>" + escaped(walk.text) + ".</p>";
  text += bars(times) + cluster(times) + operators(times);
  for (const auto& [side, one] : times.sides) {
    for (const auto& [phase, why] : one.failed) {
      text += fmt::format("<p class=\"banner\">{} {}, phase {}: {}</p>", escaped(side.name),
                          escaped(side.mode), phase, escaped(why.substr(0, why.find('\n'))));
    }
  }
  return text + "</section>";
}

std::string equality_card(const std::vector<Equality>& all) {
  if (all.empty()) return {};
  std::string rows;
  for (const Equality& one : all) {
    const auto find = [&](const char* what, Precision precision) -> std::string {
      for (const EqualityRow& row : one.rows) {
        if (row.what == what && row.precision == precision) {
          return fmt::format("{:.1e}", row.largest);
        }
      }
      return "-";
    };
    rows += "<tr>" + cell(one.network) + cell(one.peer + " " + one.version) +
            cell(one.holds()          ? "equal"
                 : one.failed.empty() ? "differs"
                                      : "failed",
                 one.holds() ? "good" : "bad") +
            cell(find("loss", Precision::f32), "number") +
            cell(find("gradients", Precision::f32), "number") +
            cell(find("weights after 10 steps", Precision::f32), "number") +
            cell(find("gradients", Precision::f64), "number") +
            cell(one.cause.empty() ? one.failed.substr(0, one.failed.find('\n')) : one.cause) +
            "</tr>";
  }
  return "<section class=\"card\"><h2>Is it the same network?</h2>"
         "<p class=\"quiet\">Largest relative differences from ours, from the same weights on the "
         "same batch.</p>" +
         table({"network", "in", "", "loss f32", "gradients f32", "weights after 10 steps f32",
                "gradients f64", "what differs first"},
               rows) +
         "</section>";
}

}  // namespace

std::string comparison_page(const Comparison& comparison) {
  std::string body = "<header class=\"head\"><h1>Compared with other frameworks</h1></header>";
  for (const NetworkTimes& times : comparison.times) body += network_card(times);
  body += equality_card(comparison.equality);
  return report::html_document("compared - syrtos", body);
}

}  // namespace syrtos::compare

#include "syrtos/report/explain_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "syrtos/base/format.h"
#include "syrtos/planner/units.h"
#include "syrtos/report/text.h"

namespace syrtos::report {

using nlohmann::json;
using planner::format_short_time;

namespace {

constexpr double kSame = 0.02;  // of the total: below, runs vary anyway

std::vector<std::string> other_settings(const RunJob& a, const RunJob& b) {
  std::vector<std::string> other;
  const auto add = [&](const char* name, const auto& of_a, const auto& of_b) {
    if (of_a != of_b) other.push_back(clean_text(fmt::format("{} {}, {}", name, of_a, of_b)));
  };
  add("network", a.network, b.network);
  add("input", a.input, b.input);
  add("data", a.data, b.data);
  add("batch", a.batch, b.batch);
  add("precision", a.precision, b.precision);
  add("threads", a.threads, b.threads);
  add("workers", a.workers, b.workers);
  if (a.workers > 1 || b.workers > 1) {
    add("exchange", a.exchange, b.exchange);
    add("sync", a.sync, b.sync);
    add("wire", a.wire, b.wire);
  }
  return other;
}

void sort_by_change(std::vector<Difference>& differences) {
  std::stable_sort(differences.begin(), differences.end(),
                   [](const Difference& a, const Difference& b) {
                     return std::fabs(a.change()) > std::fabs(b.change());
                   });
}

std::string change_text(double seconds) {
  return (seconds < 0 ? "-" : "+") + format_short_time(std::fabs(seconds));
}

/// Both profiles, item by item; what only one has counts as 0 in the other.
std::vector<Difference> operator_changes(const OperatorProfile& a, double scale_a,
                                         const OperatorProfile& b, double scale_b) {
  std::map<std::string, Difference> items;
  const auto add = [&](const OperatorProfile& profile, double scale, double Difference::*side) {
    for (const OperatorItem& item : profile.items) {
      const std::string name = clean_text(item.layer + " " + item.operation + " " + item.phase);
      Difference& found = items[name];
      found.name = name;
      found.*side += scale * item.seconds / static_cast<double>(item.calls);
    }
  };
  add(a, scale_a, &Difference::a);
  add(b, scale_b, &Difference::b);
  std::vector<Difference> changes;
  for (auto& [name, item] : items) {
    const double larger = std::max(item.a, item.b);
    if (std::fabs(item.change()) > kSame * larger) changes.push_back(item);
  }
  sort_by_change(changes);
  return changes;
}

std::string verdict_of(const Comparison& c) {
  std::string text;
  if (c.images_per_s_a > 0 && c.images_per_s_b > 0) {
    const double ratio = c.images_per_s_b / c.images_per_s_a;
    text += std::fabs(ratio - 1) < kSame
                ? fmt::format("Both are equally fast ({} and {} images/s)",
                              format_count(std::llround(c.images_per_s_a)),
                              format_count(std::llround(c.images_per_s_b)))
                : fmt::format("B is {:.2f} times as fast: {} instead of {} images/s", ratio,
                              format_count(std::llround(c.images_per_s_b)),
                              format_count(std::llround(c.images_per_s_a)));
    text += ". ";
  }
  if (c.total.a <= 0 || c.total.b <= 0) return text;
  text +=
      fmt::format("{} takes {} instead of {}", c.per_step ? "A step" : "A worker's 1,000 images",
                  format_short_time(c.total.b), format_short_time(c.total.a));
  if (std::fabs(c.total.change()) < kSame * c.total.a) return text + ": no more than runs vary.";
  text += ": ";
  // What changed in the same direction explains it.
  double explained = 0;
  int named = 0;
  for (const Difference& part : c.parts) {
    if (part.change() * c.total.change() <= 0 || named == 3) continue;
    if (std::fabs(part.change()) < 0.05 * std::fabs(c.total.change())) continue;
    text += fmt::format("{}{} {}", named++ > 0 ? ", " : "", change_text(part.change()), part.name);
    explained += part.change();
  }
  text += fmt::format(" make up {:.0f} % of it.", 100 * explained / c.total.change());
  if (!c.ranks.empty() && c.ranks.size() > 1) {
    const Difference& rank = c.ranks.front();
    const double typical = std::fabs(c.ranks[c.ranks.size() / 2].change());
    if (std::fabs(rank.change()) > 2 * typical + 0.05 * c.total.a) {
      text += fmt::format(" {} stands out: it computes for {} instead of {}.", rank.name,
                          format_short_time(rank.b), format_short_time(rank.a));
    }
  }
  if (!c.operators.empty()) {
    const Difference& item = c.operators.front();
    if (std::fabs(item.change()) > 0.2 * std::fabs(c.total.change())) {
      text += fmt::format(" The operator that changed most is {}: {} instead of {}.", item.name,
                          format_short_time(item.b), format_short_time(item.a));
    }
  }
  return text;
}

json to_json(const std::vector<Difference>& differences) {
  json list = json::array();
  for (const Difference& d : differences) {
    list.push_back({{"name", d.name}, {"a", d.a}, {"b", d.b}, {"change", d.change()}});
  }
  return list;
}

}  // namespace

Comparison compare(const Run& a, const Explanation& of_a, const Run& b, const Explanation& of_b) {
  Comparison result;
  result.other = other_settings(a.job, b.job);
  const int64_t batch_a = a.job.worker_batch(), batch_b = b.job.worker_batch();
  result.per_step = batch_a == batch_b || batch_a == 0 || batch_b == 0;
  const double scale_a = result.per_step ? 1 : 1000.0 / static_cast<double>(batch_a);
  const double scale_b = result.per_step ? 1 : 1000.0 / static_cast<double>(batch_b);
  result.images_per_s_a = of_a.images_per_s;
  result.images_per_s_b = of_b.images_per_s;
  result.total = {"total", scale_a * of_a.cluster.step.sum(), scale_b * of_b.cluster.step.sum()};
  for (size_t i = 0; i < trace::kParts; ++i) {
    const Difference part{std::string(trace::kPartNames[i]), scale_a * of_a.cluster.step.seconds[i],
                          scale_b * of_b.cluster.step.seconds[i]};
    if (part.a > 0 || part.b > 0) result.parts.push_back(part);
  }
  sort_by_change(result.parts);
  for (const RankTime& rank : of_a.ranks) {
    for (const RankTime& other : of_b.ranks) {
      if (rank.rank != other.rank) continue;
      result.ranks.push_back({rank.name, scale_a * rank.computing(), scale_b * other.computing()});
    }
  }
  sort_by_change(result.ranks);
  if (a.operators && b.operators && a.job.network == b.job.network) {
    result.operators = operator_changes(*a.operators, scale_a, *b.operators, scale_b);
  } else {
    result.notes.push_back(a.job.network != b.job.network
                               ? "operators are not compared: the networks differ"
                               : fmt::format("operators are not compared: not both runs have {}",
                                             run::name_of(run::File::operators)));
  }
  for (const std::string& note : of_a.notes) result.notes.push_back("A: " + note);
  for (const std::string& note : of_b.notes) result.notes.push_back("B: " + note);
  result.verdict = verdict_of(result);
  return result;
}

std::string compare_text(const Run& a, const Run& b, const Comparison& comparison,
                         const ExplainTextOptions& options) {
  const auto columns = static_cast<size_t>(std::max(60, options.columns));
  std::string text =
      fmt::format("A: {}\nB: {}\n", clean_text(a.path.string()), clean_text(b.path.string()));
  const auto paragraph = [&](const std::string& words) {
    for (const std::string& line : wrapped(words, columns)) text += line + "\n";
  };
  if (!comparison.other.empty()) {
    std::string words = "They differ in ";
    for (size_t i = 0; i < comparison.other.size(); ++i) {
      words += (i > 0 ? "; " : "") + comparison.other[i];
    }
    paragraph(words + ".");
  }
  text += "\n";
  paragraph(comparison.verdict);
  const auto table = [&](const std::string& title, const std::vector<Difference>& rows,
                         size_t most) {
    if (rows.empty()) return;
    text += fmt::format("\n{:<44} {:>10} {:>10} {:>11}\n", title, "A", "B", "change");
    for (size_t i = 0; i < rows.size() && i < most; ++i) {
      const std::string name = shortened(rows[i].name, 42);
      text += "  " + name + std::string(42 - length_of(name), ' ') +
              fmt::format(" {:>10} {:>10} {:>11}\n", format_short_time(rows[i].a),
                          format_short_time(rows[i].b), change_text(rows[i].change()));
    }
  };
  std::vector<Difference> parts{comparison.total};
  parts.insert(parts.end(), comparison.parts.begin(), comparison.parts.end());
  table(comparison.per_step ? "A step, mean of all ranks" : "1,000 images, mean of all ranks",
        parts, parts.size());
  table("Computing, rank by rank", comparison.ranks, 8);
  table("Operators of rank 0", comparison.operators, options.top);
  if (!comparison.notes.empty()) text += "\n";
  for (const std::string& note : comparison.notes) paragraph("note: " + clean_text(note));
  return text;
}

json compare_json(const Run& a, const Run& b, const Comparison& comparison) {
  return {{"a", a.path.string()},
          {"b", b.path.string()},
          {"other", comparison.other},
          {"unit", comparison.per_step ? "step" : "1000 images"},
          {"images_per_s_a", comparison.images_per_s_a},
          {"images_per_s_b", comparison.images_per_s_b},
          {"total", to_json(std::vector<Difference>{comparison.total})[0]},
          {"parts", to_json(comparison.parts)},
          {"ranks", to_json(comparison.ranks)},
          {"operators", to_json(comparison.operators)},
          {"verdict", comparison.verdict},
          {"notes", comparison.notes}};
}

}  // namespace syrtos::report

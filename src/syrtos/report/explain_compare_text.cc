#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "syrtos/planner/units.h"
#include "syrtos/report/explain_compare.h"
#include "syrtos/report/text.h"

namespace syrtos::report {

using nlohmann::json;
using planner::format_short_time;

namespace {

std::string change_text(double seconds) {
  return (seconds < 0 ? "-" : "+") + format_short_time(std::fabs(seconds));
}

std::string padded(const std::string& text, size_t width) {
  const std::string shown = shortened(text, width);
  return shown + std::string(width - length_of(shown), ' ');
}

class Writer {
 public:
  Writer(const std::vector<Explained>& runs, const Comparison& comparison,
         const ExplainTextOptions& options)
      : runs_(runs),
        comparison_(comparison),
        columns_(static_cast<size_t>(std::max(60, options.columns))),
        top_(options.top) {}

  std::string write() {
    for (size_t i = 0; i < runs_.size(); ++i) {
      text_ += fmt::format("{}: {}: {}\n", comparison_.names[i],
                           clean_text(runs_[i].run.path.string()), runs_[i].explanation.title);
    }
    settings();
    text_ += "\n";
    for (const std::string& verdict : comparison_.verdicts) paragraph(verdict);
    table("Of all the time", comparison_.account, comparison_.account.size());
    std::vector<ComparedTime> parts{comparison_.total};
    parts.insert(parts.end(), comparison_.parts.begin(), comparison_.parts.end());
    table(comparison_.per_step ? "A usual step, mean of all ranks"
                               : "1,000 samples, mean of all ranks",
          parts, parts.size());
    table("Computing, rank by rank", comparison_.ranks, 8);
    table("Operators of rank 0", comparison_.operators, top_);
    if (!comparison_.notes.empty()) text_ += "\n";
    for (const std::string& note : comparison_.notes) paragraph("note: " + clean_text(note));
    return std::move(text_);
  }

 private:
  void paragraph(const std::string& words) {
    for (const std::string& line : wrapped(words, columns_)) text_ += line + "\n";
  }

  void settings() {
    if (comparison_.other.empty()) {
      text_ += "\nJobs and hosts are the same.\n";
      return;
    }
    text_ += "\n" + padded("They differ in", 32);
    for (const std::string& name : comparison_.names) text_ += " " + padded(name, 16);
    text_.erase(text_.find_last_not_of(' ') + 1);
    text_ += "\n";
    for (const OtherSetting& setting : comparison_.other) {
      text_ += "  " + padded(setting.name, 30);
      for (const std::string& value : setting.values) text_ += " " + padded(value, 16);
      text_.erase(text_.find_last_not_of(' ') + 1);
      text_ += "\n";
    }
  }

  void table(const std::string& title, const std::vector<ComparedTime>& rows, size_t most) {
    if (rows.empty()) return;
    const bool two = runs_.size() == 2;
    text_ += "\n" + padded(title, 44);
    for (const std::string& name : comparison_.names) text_ += fmt::format(" {:>10}", name);
    text_ += two ? fmt::format(" {:>11}\n", "change") : "\n";
    for (size_t i = 0; i < rows.size() && i < most; ++i) {
      text_ += "  " + padded(rows[i].name, 42);
      for (const double value : rows[i].values) {
        text_ += fmt::format(" {:>10}", format_short_time(value));
      }
      text_ += two ? fmt::format(" {:>11}\n", change_text(rows[i].change())) : "\n";
    }
  }

  const std::vector<Explained>& runs_;
  const Comparison& comparison_;
  const size_t columns_;
  const size_t top_;
  std::string text_;
};

json to_json(const std::vector<ComparedTime>& times) {
  json list = json::array();
  for (const ComparedTime& time : times) {
    list.push_back({{"name", time.name}, {"seconds", time.values}});
  }
  return list;
}

}  // namespace

std::string compare_text(const std::vector<Explained>& runs, const Comparison& comparison,
                         const ExplainTextOptions& options) {
  return Writer(runs, comparison, options).write();
}

json compare_json(const std::vector<Explained>& runs, const Comparison& comparison) {
  json other = json::array(), paths = json::array();
  for (const OtherSetting& setting : comparison.other) {
    other.push_back({{"name", setting.name}, {"values", setting.values}});
  }
  for (const Explained& one : runs) paths.push_back(one.run.path.string());
  return {{"runs", paths},
          {"names", comparison.names},
          {"other", other},
          {"unit", comparison.per_step ? "step" : "1000 samples"},
          {"images_per_s", comparison.images_per_s},
          {"images_per_s_in_all", comparison.in_all},
          {"account", to_json(comparison.account)},
          {"total", to_json({comparison.total})[0]},
          {"parts", to_json(comparison.parts)},
          {"ranks", to_json(comparison.ranks)},
          {"operators", to_json(comparison.operators)},
          {"verdicts", comparison.verdicts},
          {"notes", comparison.notes}};
}

}  // namespace syrtos::report

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "syrtos/base/format.h"
#include "syrtos/planner/units.h"
#include "syrtos/report/explain.h"
#include "syrtos/report/text.h"

namespace syrtos::report {

using planner::format_short_time;
using trace::Part;

namespace {

constexpr size_t kMostRanks = 16;  // more would not fit on a screen
constexpr size_t kMostServers = 4;
constexpr size_t kMostCauses = 5;
constexpr std::array<char, trace::kParts> kLetters = {'L', 'F', 'B', 'U', 'N',
                                                      'W', 'P', 'E', 'C', '.'};
// Of the 256-colour palette, for white or black letters on top.
constexpr std::array<int, trace::kParts> kColours = {178, 67, 31, 24, 167, 245, 136, 97, 131, 240};

/// Cells of each part, which add up to `width` although each is rounded.
std::array<int, trace::kParts> cells_of(const trace::StepDivision& step, double longest,
                                        int width) {
  std::array<int, trace::kParts> cells{};
  double sum = 0;
  int used = 0;
  for (size_t i = 0; i < trace::kParts; ++i) {
    sum += step.seconds[i];
    const int end = static_cast<int>(std::lround(width * std::min(1.0, sum / longest)));
    cells[i] = end - used;
    used = end;
  }
  return cells;
}

std::string bar_of(const trace::StepDivision& step, double longest, int width, bool colour) {
  const auto cells = cells_of(step, longest, width);
  std::string text;
  int used = 0;
  for (size_t i = 0; i < trace::kParts; ++i) {
    if (cells[i] == 0) continue;
    used += cells[i];
    const std::string letters(static_cast<size_t>(cells[i]), kLetters[i]);
    if (!colour) {
      text += letters;
      continue;
    }
    std::string label(static_cast<size_t>(cells[i]), ' ');
    label[label.size() / 2] = kLetters[i];
    text += fmt::format("\x1b[48;5;{}m\x1b[38;5;231m{}\x1b[0m", kColours[i], label);
  }
  return text + std::string(static_cast<size_t>(width - used), ' ');
}

class Writer {
 public:
  Writer(const Run& run, const Explanation& explanation, const ExplainTextOptions& options)
      : run_(run),
        explanation_(explanation),
        options_(options),
        columns_(static_cast<size_t>(std::max(60, options.columns))) {}

  std::string write() {
    head();
    bars();
    causes();
    advice();
    operators();
    notes();
    return std::move(text_);
  }

 private:
  std::string strong(const std::string& text) const {
    return options_.colour ? fmt::format("\x1b[1m{}\x1b[0m", text) : text;
  }
  void paragraph(const std::string& text, const std::string& first, const std::string& further) {
    bool begun = false;
    for (const std::string& line : wrapped(text, columns_ - further.size())) {
      text_ += (begun ? further : first) + line + "\n";
      begun = true;
    }
  }

  void head() {
    text_ += strong(shortened(clean_text(run_.name()), 40)) + ": " +
             shortened(explanation_.title, columns_) + "\n";
    std::string line = explanation_.state;
    if (explanation_.images_per_s > 0) {
      line += fmt::format("; {} samples/s", format_count(std::llround(explanation_.images_per_s)));
      if (explanation_.images_per_s_in_all > 0) {
        line += fmt::format(" in steps, {} from the command to its end",
                            format_count(std::llround(explanation_.images_per_s_in_all)));
      }
    }
    if (run_.job.replayed) {
      line += "; computing was replayed";
    } else if (!run_.epochs.empty()) {
      const EpochMetrics& last = run_.epochs.back();
      line += fmt::format("; loss {:.4g}", last.train_loss);
      if (last.evaluated) line += ", " + run::to_text(last.test, last.set + " ");
    }
    text_ += line + "\n";
    for (const std::string& lost : explanation_.lost) paragraph(lost + ".", "", "");
    paragraph(explanation_.path, "", "");
    paragraph(explanation_.certainty, "", "");
    paragraph(plan_text(explanation_), "", "");
    if (run_.account) {
      paragraph(fmt::format("From the command to its end {}: {}.",
                            format_short_time(run_.account->sum()), account_text(*run_.account)),
                "", "");
    }
  }

  void bars() {
    if (explanation_.ranks.empty()) return;
    text_ += "\n" + strong("Where the time went") + " (mean of usual steps)\n";
    double longest = 1e-12;
    size_t names = 3;
    for (const auto* all : {&explanation_.ranks, &explanation_.servers}) {
      for (const RankTime& rank : *all) {
        longest = std::max(longest, rank.step.sum());
        names = std::max(names, length_of(clean_text(rank.name)));
      }
    }
    names = std::min<size_t>(names, 24);
    const int width = static_cast<int>(columns_ - names) - 12;
    const auto line = [&](const RankTime& rank) {
      const std::string name = shortened(clean_text(rank.name), names);
      text_ += name + std::string(names - length_of(name), ' ') + " " +
               bar_of(rank.step, longest, width, options_.colour) + " " +
               fmt::format("{:>8}\n", format_short_time(rank.step.sum()));
    };
    const std::vector<RankTime>& ranks = explanation_.ranks;
    // Of many, the slowest to compute, which decide.
    std::vector<const RankTime*> shown;
    for (const RankTime& rank : ranks) shown.push_back(&rank);
    if (ranks.size() > kMostRanks) {
      std::stable_sort(shown.begin(), shown.end(), [](const RankTime* a, const RankTime* b) {
        return a->computing() > b->computing();
      });
      shown.resize(kMostRanks);
    }
    for (const RankTime* rank : shown) line(*rank);
    if (ranks.size() > kMostRanks) {
      text_ += fmt::format("... and {} more, which compute faster\n", ranks.size() - kMostRanks);
    }
    if (ranks.size() > 1) line(explanation_.cluster);
    const std::vector<RankTime>& servers = explanation_.servers;
    for (size_t i = 0; i < servers.size() && i < kMostServers; ++i) line(servers[i]);
    if (servers.size() > kMostServers) {
      text_ += fmt::format("... and {} more servers\n", servers.size() - kMostServers);
    }
    legend();
    if (!servers.empty()) paragraph(servers_text(), "", "");
  }

  /// Whether they are what holds the workers up.
  std::string servers_text() const {
    std::string text = "In a step";
    for (size_t i = 0; i < explanation_.servers.size() && i < kMostServers; ++i) {
      const RankTime& server = explanation_.servers[i];
      text += fmt::format(
          "{} {} is busy {} ({:.0f} %): {} moving gradients and weights, {} updating",
          i == 0 ? "" : ";", clean_text(server.name),
          format_short_time(server.step.sum() - server.step[Part::wait] -
                            server.step[Part::checkpoint]),
          100 * busy_share(explanation_, server), format_short_time(server.step[Part::network]),
          format_short_time(server.step[Part::update]));
    }
    return text + ".";
  }

  void legend() {
    const trace::StepDivision& all = explanation_.cluster.step;
    std::string line;
    for (size_t i = 0; i < trace::kParts; ++i) {
      if (all.seconds[i] < 0.0005 * all.sum()) continue;
      const std::string item = fmt::format("{} {} {:.1f} %", kLetters[i], trace::kPartNames[i],
                                           100 * all.seconds[i] / all.sum());
      if (!line.empty() && line.size() + 3 + item.size() > columns_) {
        text_ += line + "\n";
        line.clear();
      }
      line += (line.empty() ? "" : "   ") + item;
    }
    text_ += line + "\n";
  }

  void causes() {
    if (explanation_.ranks.empty()) return;
    if (explanation_.causes.empty()) {
      text_ += "\nNothing but computing takes more than 1 % of the time.\n";
      return;
    }
    text_ += "\n" + strong("What holds it up") + "\n";
    for (size_t i = 0; i < explanation_.causes.size() && i < kMostCauses; ++i) {
      const Cause& cause = explanation_.causes[i];
      paragraph(fmt::format("{}: {}", to_string(cause.kind), cause.text),
                fmt::format("{}. {:>4.0f} %  {:>7} {}  ", i + 1, 100 * cause.share,
                            format_short_time(cause.seconds), cause.once ? "once  " : "a step"),
                std::string(26, ' '));
    }
  }

  void advice() {
    if (explanation_.advice.empty()) return;
    text_ += "\n" + strong("What to do") + "\n";
    for (size_t i = 0; i < explanation_.advice.size(); ++i) {
      const Advice& advice = explanation_.advice[i];
      const std::string option = advice.options.empty() ? "" : advice.options + ": ";
      paragraph(fmt::format("{}{} [{}]", option, advice.what, to_string(advice.certainty)),
                fmt::format("{}. {:>14}  ", i + 1, gain_text(advice)), std::string(19, ' '));
    }
    for (const Advice& advice : explanation_.advice) {
      if (advice.options.empty()) continue;
      const std::string job = (run_.path / run::name_of(run::File::job)).string();
      paragraph(
          fmt::format("syrtos train {} {}", clean_text(job), advice.options),
          on_several_hosts() ? "To follow one, with --hosts as before: " : "To follow one: ", "  ");
      break;
    }
  }

  bool on_several_hosts() const {
    const std::vector<RankTime>& ranks = explanation_.ranks;
    return std::any_of(ranks.begin(), ranks.end(),
                       [&](const RankTime& rank) { return rank.host != ranks.front().host; });
  }

  /// What cannot be simulated is said with less.
  static std::string gain_text(const Advice& advice) {
    if (advice.certainty == Certainty::open) return "gain not known";
    if (advice.certainty == Certainty::at_most) {
      return fmt::format("up to {:.1f} x", advice.speed_up);
    }
    return fmt::format("{:.2f} x speed", advice.speed_up);
  }

  void operators() {
    if (!run_.operators) return;
    const auto rows = operator_rows(*run_.operators, options_.by);
    text_ += fmt::format("\n{} of rank 0, in a step\n", strong("Operators"));
    text_ += fmt::format("{:<32} {:>6} {:>9} {:>7} {:>9} {:>7} {:>9}\n", "", "calls", "time",
                         "share", "GFLOP/s", "GB/s", "roofline");
    for (size_t i = 0; i < rows.size() && i < options_.top; ++i) {
      const OperatorRow& row = rows[i];
      const std::string name = shortened(row.name, 32);
      text_ += name + std::string(32 - length_of(name), ' ') +
               fmt::format(" {:>6} {:>9} {:>5.1f} % {:>9.1f} {:>7.1f} {:>9}\n", row.calls,
                           format_short_time(row.seconds), 100 * row.share, row.gflops, row.gb_s,
                           row.of_roofline ? fmt::format("{:.0f} %", 100 * *row.of_roofline) : "-");
    }
    if (rows.size() > options_.top) {
      text_ += fmt::format("... and {} more (--top {})\n", rows.size() - options_.top, rows.size());
    }
  }

  void notes() {
    if (explanation_.notes.empty()) return;
    text_ += "\n";
    for (const std::string& note : explanation_.notes)
      paragraph(clean_text(note), "note: ", "      ");
  }

  const Run& run_;
  const Explanation& explanation_;
  const ExplainTextOptions& options_;
  const size_t columns_;
  std::string text_;
};

}  // namespace

std::string explain_text(const Run& run, const Explanation& explanation,
                         const ExplainTextOptions& options) {
  return Writer(run, explanation, options).write();
}

}  // namespace syrtos::report

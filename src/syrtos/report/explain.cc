#include "syrtos/report/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/planner/units.h"
#include "syrtos/report/explain_steps.h"
#include "syrtos/report/text.h"

namespace syrtos::report {

using planner::format_short_time;
using trace::Part;

namespace {

constexpr std::array<const char*, 16> kCauseNames = {
    "slow loader",  "slow rank",     "slow link",     "exchange",   "latency",    "server",
    "uneven steps", "slow operator", "small batch",   "evaluation", "checkpoint", "other",
    "too few CPUs", "pause",         "start and end", "other part"};

std::string title_of(const Run& run) {
  const RunJob& job = run.job;
  std::string text = job.network.empty() ? "a network that is not known" : job.network;
  if (!job.data.empty()) text += " on " + job.data;
  if (job.batch > 0) text += fmt::format(", batch {}", job.batch);
  if (job.workers > 1) {
    text += fmt::format("{}, {} workers", job.strategy.sync.splits_batch() ? " in all" : " each",
                        job.workers);
  }
  if (job.workers > 1 && job.strategy_known) {
    text += fmt::format(", {} {} {}", to_string(job.strategy.exchange),
                        to_string(job.strategy.sync), to_string(job.strategy.wire));
    if (!(job.strategy.split == strategy::Split::none())) {
      text += " " + to_string(job.strategy.split);
    }
  }
  if (!job.precision.empty() && job.precision != "auto") text += ", " + job.precision;
  return clean_text(text);
}

std::string state_of(const Run& run) {
  int64_t steps = run.epochs.empty() ? 0 : run.epochs.back().step;
  for (const RunRank& rank : run.ranks) {
    int64_t recorded = 0;
    for (const trace::DivisionRecord& record : rank.records) recorded += record.steps;
    steps = std::max(steps, recorded);
  }
  if (!run.parts.empty()) steps = std::max(steps, run.parts.back().last_step);
  const std::string text = fmt::format("{} step{}", format_count(steps), steps == 1 ? "" : "s");
  const int64_t done = run.epochs.empty() ? 0 : run.epochs.back().epoch;
  if (run.complete())
    return fmt::format("complete: {} epoch{}, {}", done, done == 1 ? "" : "s", text);
  return fmt::format("{} of {} epoch{}, {}", done, run.job.epochs, run.job.epochs == 1 ? "" : "s",
                     text);
}

double images_per_s(const Explanation& explanation, const Run& run) {
  const auto samples = static_cast<double>(explanation.samples_per_step);
  if (samples > 0 && explanation.step_s > 0) {
    if (explanation.in_step) return samples / explanation.step_s;
    double rate = 0;
    for (const RankTime& rank : explanation.ranks) {
      if (rank.seconds() > 0) rate += static_cast<double>(run.job.batch) / rank.seconds();
    }
    return rate;
  }
  return run.epochs.empty() ? 0 : run.epochs.back().images_per_s;
}

/// That all workers have trained with.
int64_t samples_of(const Run& run) {
  int64_t samples = 0;
  for (const EpochMetrics& epoch : run.epochs) samples += epoch.samples;
  if (run.complete() && samples > 0) return samples;
  return run.parts.empty() ? 0 : run.parts.back().last_step * run.samples_per_step();
}

/// Everything, divided by the steps.
double whole_of(const Explanation& explanation, const Run& run) {
  const bool one_team = std::all_of(run.parts.begin(), run.parts.end(), [&](const auto& part) {
    return part.same_team(run.parts.back());
  });
  if (run.account && one_team && run.parts.back().last_step > 0) {
    return run.account->sum() / static_cast<double>(run.parts.back().last_step);
  }
  double pauses = 0;
  for (const Pause& pause : explanation.pauses) pauses += pause.seconds;
  const auto steps = static_cast<double>(std::max<int64_t>(1, explanation.cluster.steps));
  return explanation.cluster.step.sum() + pauses / steps;
}

std::string path_of(const Explanation& explanation) {
  const RankTime& all = explanation.cluster;
  if (explanation.step_s <= 0) return "";
  std::string text = fmt::format("A step takes {}", format_short_time(explanation.step_s));
  if (const auto& spread = explanation.spread) {
    text += fmt::format(" (median {}, nine of ten between {} and {})",
                        format_short_time(spread->median), format_short_time(spread->low),
                        format_short_time(spread->high));
  }
  text += fmt::format(": {} computing", format_short_time(all.computing()));
  const auto add = [&](double seconds, const char* what) {
    if (seconds >= 0.005 * explanation.step_s) {
      text += fmt::format(", {} {}", format_short_time(seconds), what);
    }
  };
  add(all.step[Part::load], "waiting for data");
  add(all.step[Part::network], "exposed exchange");
  add(all.step[Part::wait], "waiting for others");
  add(all.step[Part::bubble], "waiting for another part");
  add(all.step[Part::other], "other");
  if (all.step.hidden_network > 0.005 * explanation.step_s) {
    text += fmt::format("; {} of exchange are hidden behind computing",
                        format_short_time(all.step.hidden_network));
  }
  return text + ".";
}

std::string certainty_of(const Run& run) {
  if (!run.exchange || run.exchange->measuring_share <= 0) return "";
  const double percent = 100 * run.exchange->measuring_share;
  std::string text = percent < 0.01 ? "Measuring took less than 0.01 % of the time"
                                    : fmt::format("Measuring took {:.2g} % of the time", percent);
  if (run.exchange->clock_error_s > 0) {
    text += fmt::format("; the ranks' clocks agree within {}",
                        format_short_time(run.exchange->clock_error_s));
  }
  return text + ".";
}

/// "Resumed after step 40; the pause of 3:02 min is not counted."
std::string parts_of(const Run& run) {
  if (run.parts.size() < 2) return "";
  std::string steps;
  double pauses = 0;
  for (size_t i = 1; i < run.parts.size(); ++i) {
    const char* between = i == 1 ? "" : i + 1 == run.parts.size() ? " and " : ", ";
    steps += fmt::format("{}{}", between, format_count(run.parts[i].first_step - 1));
    pauses += std::max(0.0, run.parts[i].begun - run.parts[i - 1].ended);
  }
  const bool one = run.parts.size() == 2;
  return fmt::format(" Resumed after step {}; the pause{} of {}{} not counted.", steps,
                     one ? "" : "s", format_duration(pauses), one ? " is" : " in all are");
}

std::string key_of(const OperatorItem& item, GroupBy by) {
  if (by == GroupBy::phase) return item.phase;
  if (by == GroupBy::kind) return item.operation;
  return item.layer;
}

}  // namespace

double RankTime::computing() const {
  return step[Part::forward] + step[Part::backward] + step[Part::update];
}

double busy_share(const Explanation& explanation, const RankTime& server) {
  if (explanation.step_s <= 0) return 0;
  const double idle = server.step[Part::wait] + server.step[Part::checkpoint];
  return std::min(1.0, (server.step.sum() - idle) / explanation.step_s);
}

double RankTime::seconds() const {
  return step.sum() - step[Part::evaluate] - step[Part::checkpoint];
}

std::string plan_text(const Explanation& explanation) {
  if (!explanation.planned_step_s || explanation.step_s <= 0) return "";
  const double off = explanation.step_s / *explanation.planned_step_s - 1;
  return fmt::format("The plan expected {} for a step: it was {}, {:.0f} % {}.",
                     format_short_time(*explanation.planned_step_s),
                     format_short_time(explanation.step_s), 100 * std::abs(off),
                     off > 0 ? "longer" : "shorter");
}

const char* to_string(Certainty certainty) {
  switch (certainty) {
    case Certainty::simulated:
      return "simulated";
    case Certainty::reckoned:
      return "reckoned";
    case Certainty::at_most:
      return "at most";
    case Certainty::open:
      return "open";
  }
  return "";
}

const char* to_string(CauseKind kind) { return kCauseNames.at(static_cast<size_t>(kind)); }

GroupBy parse_group_by(const std::string& text) {
  if (text == "layer") return GroupBy::layer;
  if (text == "kind") return GroupBy::kind;
  if (text == "phase") return GroupBy::phase;
  fail_request("--by: expected layer, kind or phase, found '{}'", text);
}

std::vector<OperatorRow> operator_rows(const OperatorProfile& profile, GroupBy by) {
  struct Sum {
    OperatorRow row;
    double flops = 0, bytes = 0, at_best = 0;
  };
  std::map<std::string, Sum> sums;
  double all = 0;
  for (const OperatorItem& item : profile.items) {
    const double steps = static_cast<double>(item.calls);
    const double seconds = item.usual_seconds();
    Sum& sum = sums[key_of(item, by)];
    sum.row.calls += 1;
    sum.row.seconds += seconds;
    sum.flops += item.flops / steps;
    sum.bytes += item.bytes / steps;
    if (profile.peak_gflops > 0 && profile.memory_gb_s > 0) {
      sum.at_best += std::max(item.flops / profile.peak_gflops, item.bytes / profile.memory_gb_s) *
                     1e-9 / steps;
    }
    all += seconds;
  }
  std::vector<OperatorRow> rows;
  for (auto& [name, sum] : sums) {
    OperatorRow row = sum.row;
    row.name = clean_text(name.empty() ? "-" : name);
    row.share = all > 0 ? row.seconds / all : 0;
    if (row.seconds > 0) {
      row.gflops = sum.flops / row.seconds * 1e-9;
      row.gb_s = sum.bytes / row.seconds * 1e-9;
      // What lies in the caches is faster than memory.
      if (sum.at_best > 0) row.of_roofline = std::min(1.0, sum.at_best / row.seconds);
    }
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const OperatorRow& a, const OperatorRow& b) {
    return a.seconds > b.seconds;
  });
  return rows;
}

Explanation explain(const Run& run, const ExplainOptions& options) {
  Explanation explanation;
  explanation.title = title_of(run);
  explanation.state = state_of(run);
  explanation.notes = run.notes;
  explanation.in_step = run.job.strategy.sync.in_step();
  explanation.samples_per_step = run.samples_per_step();
  divide_steps(explanation, run);
  explanation.step_s = explanation.cluster.seconds();
  explanation.whole_s = whole_of(explanation, run);
  explanation.images_per_s = images_per_s(explanation, run);
  if (run.account && run.account->sum() > 0) {
    explanation.images_per_s_in_all = static_cast<double>(samples_of(run)) / run.account->sum();
  }
  if (run.exchange && run.exchange->planned_step_s > 0) {
    explanation.planned_step_s = run.exchange->planned_step_s;
  }
  explanation.path = path_of(explanation) + parts_of(run);
  explanation.certainty = certainty_of(run);
  for (const run::LostWorker& lost : run.lost) {
    explanation.lost.push_back(clean_text(lost_text(lost) + "; the run went on without it"));
  }
  if (explanation.ranks.empty()) {
    explanation.notes.emplace_back(
        "nothing says where the time went: no step has been recorded yet");
    return explanation;
  }
  find_causes(explanation, run);
  find_advice(explanation, run, options);
  return explanation;
}

}  // namespace syrtos::report

#include "syrtos/report/plan_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "syrtos/base/counted.h"
#include "syrtos/base/format.h"
#include "syrtos/planner/trials.h"
#include "syrtos/planner/units.h"

namespace syrtos::report {

using nlohmann::json;
using planner::ClusterProfile;
using planner::Plan;
using planner::Prediction;
using planner::Workload;

namespace {

/// Of an epoch, which may take less than a second.
std::string duration_text(double seconds) {
  return seconds < 1 ? planner::format_short_time(seconds) : format_duration(seconds);
}

/// "1:20 min ±14 %".
std::string epoch_text(const Prediction& prediction) {
  std::string text = duration_text(prediction.epoch_s);
  if (prediction.high_s > prediction.low_s) {
    const double off = std::max(prediction.high_s / prediction.epoch_s - 1,
                                1 - prediction.low_s / prediction.epoch_s);
    text += fmt::format(" ±{:.0f} %", std::max(1.0, 100 * off));
  }
  return text;
}

/// "5.2 times as fast as one host (4.8 to 5.6)".
std::string speed_text(const Prediction& prediction) {
  std::string text = fmt::format("{:.2f} times as fast as one host", prediction.speed_up);
  if (prediction.high_s > prediction.low_s) {
    text += fmt::format(" ({:.2f} to {:.2f})", prediction.slowest_speed_up(),
                        prediction.fastest_speed_up());
  }
  return text;
}

std::string way_text(const Prediction& prediction) {
  return fmt::format("{} workers, {}", prediction.candidate.workers, way_of(prediction.candidate));
}

/// What is recommended, and why nothing else.
std::string recommendation(const Plan& plan, const PlanCommands& commands) {
  const Prediction& best = plan.best();
  std::string text;
  if (best.candidate.workers > 1) {
    text = fmt::format("Distribute over {} workers: {}, {}.\n", best.candidate.workers,
                       speed_text(best), effect_of(best.candidate));
    text += fmt::format("  {}\n", commands.command_for(best));
    return text;
  }
  const Prediction* other = plan.best_distributed();
  if (plan.goal == planner::Goal::cost || plan.goal == planner::Goal::efficiency) {
    text = fmt::format("Train on one host: that is best for --goal {}.\n", to_string(plan.goal));
  } else if (other == nullptr) {
    const bool tried = std::any_of(plan.ranked.begin(), plan.ranked.end(),
                                   [](const Prediction& p) { return p.candidate.workers > 1; });
    const bool hopeless = plan.considered > 1 + plan.out_of_memory && plan.too_large == 0;
    text = tried      ? "Do not distribute this: no way that keeps the result was found to fit.\n"
           : hopeless ? "Do not distribute this: by its bytes and its computing alone every other "
                        "way takes at least 1.5 times as long as one host.\n"
                      : "Do not distribute this: no other way was tried.\n";
  } else {
    const char* same = plan.goal == planner::Goal::result ? " with the same result" : "";
    text = fmt::format("Do not distribute this: the best other way{} is {}{}.\n  ({})\n", same,
                       speed_text(*other), other->speed_up > 1 ? ", which is no certain gain" : "",
                       way_text(*other));
  }
  text += fmt::format("  {}\n", commands.command_for(best));
  return text;
}

/// How many workers are worth it.
std::string gain_text(const Plan& plan) {
  const std::string workers = counted(plan.gain_ends_at, "worker");
  const int tried = plan.fastest.back().candidate.workers;
  if (plan.gain_ends_at < tried) {
    return fmt::format("The gain ends at {}: more make an epoch less than 5 % shorter.\n", workers);
  }
  if (tried == plan.most_workers) {
    return fmt::format("Up to {}, all that were tried, each more makes it faster.\n", workers);
  }
  return fmt::format("The gain ends at {}: no way with more{} was {}.\n", workers,
                     plan.goal == planner::Goal::result ? " and the same result" : "",
                     plan.too_large > 0 ? "simulated" : "promising enough to be simulated");
}

/// What hosts that one training leaves idle could do.
std::string other_work(const Plan& plan, const Workload& workload, const ClusterProfile& cluster) {
  const planner::Trials trials = planner::trials_of(workload, cluster);
  if (!is_better_than(trials, plan, cluster)) return {};
  return fmt::format(
      "Instead of distributing it, run {} trials at once: they exchange nothing, so {} host{} "
      "train{} up to {:.1f} times the samples of one training.\n"
      "  syrtos search space.toml (docs/search.md), or --ensemble N (docs/ensembles.md)\n",
      trials.at_once, cluster.hosts.size(), cluster.hosts.size() == 1 ? "" : "s",
      cluster.hosts.size() == 1 ? "s" : "", trials.speed_up);
}

std::string verdict(const Plan& plan, const Workload& workload, const PlanCommands& commands) {
  std::string text = recommendation(plan, commands);
  const std::vector<const Prediction*> faster = plan.goal == planner::Goal::result
                                                    ? plan.faster_with_another_result()
                                                    : std::vector<const Prediction*>();
  if (!faster.empty()) text += "Faster, if another result will do:\n";
  for (const Prediction* way : faster) {
    text += fmt::format("  {:.2f} times: {} ({})\n    {}\n", way->speed_up, way_text(*way),
                        risk_of(workload, way->candidate), commands.command_for(*way));
  }
  const bool types_hosts = plan.best().candidate.workers > 1 || !faster.empty();
  if (types_hosts && !commands.note.empty()) text += fmt::format("  ({})\n", commands.note);
  if (plan.best().candidate.workers > 1) text += gain_text(plan);
  for (const std::string& note : plan.notes) text += fmt::format("Note: {}.\n", note);
  return text;
}

std::string table(const std::vector<const Prediction*>& rows) {
  std::string text = fmt::format("{:>7}  {:<42} {:>8}  {:<16} {:>8}  {:>8}  {}\n", "workers", "way",
                                 "step", "epoch", "speed-up", "memory", "result; why");
  for (const Prediction* row : rows) {
    const Prediction& p = *row;
    text += fmt::format(
        "{:>7}  {:<42} {:>8}  {:<16} {:>8.2f}  {:>8}  {}\n", p.candidate.workers,
        way_of(p.candidate), planner::format_short_time(p.step.seconds), epoch_text(p), p.speed_up,
        p.memory > 0 ? format_bytes(p.memory) : "-",
        p.reason.empty() ? effect_of(p.candidate) : effect_of(p.candidate) + "; " + p.reason);
  }
  return text;
}

json to_json(const Prediction& p, const Workload& workload, const PlanCommands& commands) {
  return {{"workers", p.candidate.workers},
          {"servers", p.candidate.servers()},
          {"exchange", to_string(p.candidate.options.exchange)},
          {"sync", to_string(p.candidate.options.sync)},
          {"wire", to_string(p.candidate.options.wire)},
          {"split", to_string(p.candidate.options.split)},
          {"pipeline", to_string(p.candidate.options.pipeline)},
          {"accumulate", accumulate_of(workload, p.candidate)},
          {"bucket_mb", p.candidate.options.bucket_mb},
          {"step", p.step.seconds},
          {"computing", p.step.computing},
          {"wire_bytes", p.step.wire_bytes},
          {"messages", p.step.messages},
          {"epoch", p.epoch_s},
          {"epoch_low", p.low_s},
          {"epoch_high", p.high_s},
          {"speed_up", p.speed_up},
          {"efficiency", p.efficiency()},
          {"hosts", p.hosts},
          {"memory", p.memory},
          {"result", effect_of(p.candidate)},
          {"reason", p.reason},
          {"keeps_result", p.keeps_result},
          {"risk", risk_of(workload, p.candidate)},
          {"command", commands.command_for(p)}};
}

}  // namespace

std::string cluster_text(const ClusterProfile& cluster) {
  const auto [slow, fast] =
      std::minmax_element(cluster.hosts.begin(), cluster.hosts.end(),
                          [](const auto& a, const auto& b) { return a.bandwidth < b.bandwidth; });
  if (cluster.hosts.size() == 1) {
    return fmt::format("one host with {} slot{}", cluster.hosts[0].slots,
                       cluster.hosts[0].slots == 1 ? "" : "s");
  }
  const std::string from = planner::format_bandwidth(slow->bandwidth);
  const std::string to = planner::format_bandwidth(fast->bandwidth);
  return fmt::format("{} at {}, {}", counted(static_cast<int64_t>(cluster.hosts.size()), "host"),
                     from == to ? to : from + " to " + to,
                     planner::format_short_time(cluster.hosts[0].latency));
}

std::string plan_text(const Plan& plan, const Workload& workload, const ClusterProfile& cluster,
                      const PlanCommands& commands, size_t top) {
  std::string text = fmt::format(
      "{}: {} of gradients, batch {}, {} samples an epoch; {}\n", workload.compute.network,
      format_bytes(4.0 * static_cast<double>(workload.compute.elements())), workload.batch,
      format_count(workload.samples), cluster_text(cluster));
  text += fmt::format("one host: {} a step, {} an epoch{}\n\n",
                      planner::format_short_time(plan.alone.step.seconds),
                      duration_text(plan.alone.epoch_s),
                      plan.alone_fits ? "" : ", but it does not fit in its memory");
  std::vector<const Prediction*> rows = plan.best_of_each_kind();
  if (top > 0) rows.clear();
  for (size_t i = 0; i < top && i < plan.ranked.size(); ++i) rows.push_back(&plan.ranked[i]);
  text +=
      verdict(plan, workload, commands) + other_work(plan, workload, cluster) + "\n" + table(rows);
  text += fmt::format(
      "{}{} considered, {} simulated{}\n",
      top > 0 ? "" : "The best of each kind; --top 20 shows the ranking: ",
      counted(plan.considered, "way"), plan.simulated,
      (plan.out_of_memory > 0 ? fmt::format(", {} {} not fit in memory", plan.out_of_memory,
                                            plan.out_of_memory == 1 ? "does" : "do")
                              : "") +
          (plan.too_large > 0 ? fmt::format(", {} too large to simulate", plan.too_large) : ""));
  if (!plan.what_ifs.empty()) text += "\nWhat would help, best first:\n";
  for (const planner::WhatIf& what_if : plan.what_ifs) {
    const Prediction& best = what_if.best;
    text += fmt::format(
        "  if {:<36} {:.2f} times as fast: {} an epoch with {}\n", what_if.what + ":", what_if.gain,
        duration_text(best.epoch_s),
        best.candidate.workers == 1
            ? "one host"
            : fmt::format("{} workers, {}", best.candidate.workers, way_of(best.candidate)));
  }
  return text;
}

json plan_json(const Plan& plan, const Workload& workload, const ClusterProfile& cluster,
               const PlanCommands& commands) {
  json ranked = json::array();
  for (const Prediction& prediction : plan.ranked)
    ranked.push_back(to_json(prediction, workload, commands));
  json what_ifs = json::array();
  for (const planner::WhatIf& what_if : plan.what_ifs) {
    what_ifs.push_back({{"what", what_if.what},
                        {"gain", what_if.gain},
                        {"best", to_json(what_if.best, workload, commands)}});
  }
  const planner::Trials trials = planner::trials_of(workload, cluster);
  return {{"network", workload.compute.network},
          {"trials",
           {{"at_once", trials.at_once},
            {"speed_up", trials.speed_up},
            {"proposed", is_better_than(trials, plan, cluster)}}},
          {"parameters", workload.compute.elements()},
          {"batch", workload.batch},
          {"samples", workload.samples},
          {"cluster", cluster_text(cluster)},
          {"goal", to_string(plan.goal)},
          {"distribute", plan.best().candidate.workers > 1},
          {"gain_ends_at", plan.gain_ends_at},
          {"alone", to_json(plan.alone, workload, commands)},
          {"best", to_json(plan.best(), workload, commands)},
          {"notes", plan.notes},
          {"needs", commands.note},
          {"considered", plan.considered},
          {"simulated", plan.simulated},
          {"too_large", plan.too_large},
          {"ranked", ranked},
          {"what_if", what_ifs}};
}

}  // namespace syrtos::report

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "syrtos/report/explain.h"
#include "syrtos/report/explain_links.h"
#include "syrtos/report/test_report.h"
#include "syrtos/report/text.h"

namespace syrtos::report {

using nlohmann::json;

namespace {

json to_json(const RankTime& rank) {
  return {{"rank", rank.rank},
          {"host", rank.host},
          {"name", rank.name},
          {"steps", rank.steps},
          {"seconds", rank.seconds()},
          {"computing", rank.computing()},
          {"step", trace::to_json(rank.step)}};
}

json epoch_json(const EpochMetrics& epoch) {
  json text = {{"epoch", epoch.epoch},
               {"step", epoch.step},
               {"train_loss", epoch.train_loss},
               {"lr", epoch.learning_rate},
               {"images_per_s", epoch.images_per_s}};
  const auto put = [&](const run::Scores& scores, const char* before) {
    for (const run::Score& score : scores) {
      if (score.metric->shown) text[before + std::string(score.metric->name)] = score.value;
    }
  };
  put(epoch.train, "train_");
  if (epoch.evaluated) {
    text["test_loss"] = epoch.test_loss;
    put(epoch.test, "test_");
  }
  return text;
}

json to_json(const OperatorRow& row) {
  json text = {{"name", row.name},   {"calls", row.calls},   {"seconds", row.seconds},
               {"share", row.share}, {"gflops", row.gflops}, {"gb_s", row.gb_s}};
  if (row.of_roofline) text["of_roofline"] = *row.of_roofline;
  return text;
}

json operators_json(const OperatorProfile& profile) {
  json text = {{"peak_gflops", profile.peak_gflops}, {"memory_gb_s", profile.memory_gb_s}};
  constexpr std::pair<const char*, GroupBy> kGroups[] = {
      {"layer", GroupBy::layer}, {"kind", GroupBy::kind}, {"phase", GroupBy::phase}};
  for (const auto& [name, by] : kGroups) {
    text[name] = json::array();
    for (const OperatorRow& row : operator_rows(profile, by)) text[name].push_back(to_json(row));
  }
  return text;
}

/// The job, key by key, as far as it says something: [key, value].
json settings_json(const Run& run) {
  json list = json::array();
  if (!run.job.request) return list;
  for (const job::JobField& field : job::job_fields()) {
    const std::string text = job::field_text(*run.job.request, field);
    if (!text.empty()) list.push_back({field.key, clean_text(text)});
  }
  return list;
}

/// What people see of training and tests, beside the loss: [{"name", "title", "share"}].
json metrics_json(const Run& run) {
  std::vector<const run::Metric*> shown;
  const auto add = [&](const run::Metric* metric) {
    if (metric != nullptr && metric->shown &&
        std::find(shown.begin(), shown.end(), metric) == shown.end()) {
      shown.push_back(metric);
    }
  };
  add(run.point_metric);
  for (const EpochMetrics& epoch : run.epochs) {
    for (const run::Score& score : epoch.test) add(score.metric);
    for (const run::Score& score : epoch.train) add(score.metric);
  }
  json list = json::array();
  for (const run::Metric* metric : shown) {
    list.push_back({{"name", metric->name}, {"title", metric->title}, {"share", metric->is_share}});
  }
  return list;
}

json scores_json(const run::TestScores& scores) {
  const ScoreTable table = table_of(scores);
  json rows = json::array();
  for (const auto* part : {&table.rows, &table.means}) {
    for (const std::vector<std::string>& row : *part) {
      rows.push_back(row);
      rows.back()[0] = clean_text(row[0]);
    }
  }
  return {{"set", scores.set},        {"epoch", scores.epoch}, {"samples", scores.samples},
          {"columns", table.columns}, {"rows", rows},          {"picture", report_svg(scores)}};
}

}  // namespace

json explain_json(const Run& run, const Explanation& explanation) {
  json text = {{"run", run.path.string()},
               {"name", run.name()},
               {"title", explanation.title},
               {"state", explanation.state},
               {"complete", run.complete()},
               {"replayed", run.job.replayed},
               {"network", run.job.network},
               {"batch", run.job.batch},
               {"workers", run.job.workers},
               {"exchange", to_string(run.job.strategy.exchange)},
               {"sync", to_string(run.job.strategy.sync)},
               {"wire", to_string(run.job.strategy.wire)},
               {"step_seconds", explanation.step_s},
               {"whole_seconds", explanation.whole_s},
               {"images_per_s", explanation.images_per_s},
               {"path", explanation.path},
               {"certainty", explanation.certainty},
               {"cluster", to_json(explanation.cluster)},
               {"ranks", json::array()},
               {"causes", json::array()},
               {"advice", json::array()},
               {"epochs", json::array()},
               {"lost", explanation.lost},
               {"notes", explanation.notes}};
  for (const RankTime& rank : explanation.ranks) text["ranks"].push_back(to_json(rank));
  for (const RankTime& server : explanation.servers) {
    text["servers"].push_back(to_json(server));
    text["servers"].back()["busy"] = busy_share(explanation, server);
  }
  for (const Cause& cause : explanation.causes) {
    text["causes"].push_back({{"kind", to_string(cause.kind)},
                              {"text", cause.text},
                              {"seconds", cause.seconds},
                              {"once", cause.once},
                              {"share", cause.share}});
  }
  for (const Advice& advice : explanation.advice) {
    text["advice"].push_back({{"what", advice.what},
                              {"options", advice.options},
                              {"certainty", to_string(advice.certainty)},
                              {"other_hardware", advice.other_hardware}});
    if (advice.certainty != Certainty::open) {
      text["advice"].back()["speed_up"] = advice.speed_up;
    }
  }
  for (const EpochMetrics& epoch : run.epochs) text["epochs"].push_back(epoch_json(epoch));
  text["set"] = run.epochs.empty() ? "test" : run.epochs.back().set;
  text["metrics"] = metrics_json(run);
  if (run.scores && !run.job.replayed) text["scores"] = scores_json(*run.scores);
  for (const run::TrainedPart& part : run.parts) {
    text["parts"].push_back({{"first_step", part.first_step},
                             {"last_step", part.last_step},
                             {"workers", part.workers},
                             {"begun", part.begun},
                             {"ended", part.ended}});
  }
  if (explanation.images_per_s_in_all > 0) {
    text["images_per_s_in_all"] = explanation.images_per_s_in_all;
  }
  if (run.account) {
    for (const auto& [name, seconds] : account_parts(*run.account)) {
      text["account"].push_back({{"name", name}, {"seconds", seconds}});
    }
  }
  if (const auto& spread = explanation.spread) {
    text["spread"] = {{"steps", spread->steps},
                      {"low", spread->low},
                      {"median", spread->median},
                      {"high", spread->high},
                      {"highest", spread->highest}};
  }
  for (const Pause& pause : explanation.pauses) {
    text["pauses"].push_back({{"step", pause.step},
                              {"after_seconds", pause.after_s},
                              {"seconds", pause.seconds},
                              {"who", pause.name}});
  }
  for (const LinkRate& rate : link_rates(run)) {
    text["links"].push_back(
        {{"from", rate.from}, {"to", rate.to}, {"bytes_per_s", rate.bytes_per_s}});
  }
  text["settings"] = settings_json(run);
  if (run.operators) text["operators"] = operators_json(*run.operators);
  if (explanation.planned_step_s) text["planned_step_seconds"] = *explanation.planned_step_s;
  return text;
}

}  // namespace syrtos::report

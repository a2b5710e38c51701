#include <cmath>
#include <nlohmann/json.hpp>

#include "syrtos/report/explain.h"

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
  json text = {{"epoch", epoch.epoch},           {"step", epoch.step},
               {"train_loss", epoch.train_loss}, {"train_accuracy", epoch.train_accuracy},
               {"lr", epoch.learning_rate},      {"images_per_s", epoch.images_per_s}};
  if (epoch.evaluated) {
    text["test_loss"] = epoch.test_loss;
    text["test_accuracy"] = epoch.test_accuracy;
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
               {"exchange", run.job.exchange},
               {"sync", run.job.sync},
               {"wire", run.job.wire},
               {"step_seconds", explanation.step_s},
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
                              {"share", cause.share}});
  }
  for (const Advice& advice : explanation.advice) {
    text["advice"].push_back({{"what", advice.what},
                              {"saves_seconds", advice.saves_s},
                              {"speed_up", advice.speed_up},
                              {"simulated", advice.simulated}});
  }
  for (const EpochMetrics& epoch : run.epochs) text["epochs"].push_back(epoch_json(epoch));
  for (const run::TrainedPart& part : run.parts) {
    text["parts"].push_back({{"first_step", part.first_step},
                             {"last_step", part.last_step},
                             {"workers", part.workers},
                             {"begun", part.begun},
                             {"ended", part.ended}});
  }
  if (run.operators) text["operators"] = operators_json(*run.operators);
  if (explanation.planned_step_s) text["planned_step_seconds"] = *explanation.planned_step_s;
  return text;
}

}  // namespace syrtos::report

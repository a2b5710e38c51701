#include "syrtos/cli/ensemble_report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "syrtos/api/ensemble.h"
#include "syrtos/base/format.h"

namespace syrtos::cli {

namespace {

void put_scores(const run::Scores& scores, nlohmann::json& text) {
  for (const run::Score& score : scores) {
    if (score.metric->shown) text[std::string(score.metric->name)] = score.value;
  }
}

}  // namespace

int eval_ensemble(const api::LoadRequest& request, bool json, const Context& context) {
  api::EnsemblePredictor predictor(request, surroundings(context));
  const api::EnsembleEvaluation result = predictor.evaluate_test(context.interrupted);
  if (context.interrupted()) {
    fmt::print(stderr, "interrupted\n");
    return kExitFailed;
  }
  for (const std::string& note : predictor.first().notes()) {
    fmt::print(stderr, "note: {}\n", note);
  }
  const api::Ensemble& ensemble = predictor.ensemble();
  using Result = api::EnsembleEvaluation::Result;
  if (json) {
    nlohmann::json text = {{"ensemble", request.checkpoint.string()},
                           {"combine", to_string(ensemble.combine)},
                           {"samples", result.samples},
                           {"loss", result.all.loss},
                           {"seconds", result.seconds}};
    put_scores(result.all.scores, text);
    if (std::isfinite(result.disagreement)) text["disagreement"] = result.disagreement;
    for (const Result& one : result.members) {
      text["members"].push_back({{"member", one.member.string()}, {"loss", one.loss}});
      put_scores(one.scores, text["members"].back());
    }
    if (!ensemble.weights.empty()) text["weights"] = ensemble.weights;
    fmt::print("{}\n", text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return kExitDone;
  }
  const std::filesystem::path directory = std::filesystem::absolute(request.checkpoint);
  for (size_t i = 0; i < result.members.size(); ++i) {
    const Result& one = result.members[i];
    const auto name = std::filesystem::absolute(one.member).lexically_relative(directory);
    fmt::print("{:<24} loss {:.4f}, {}{}\n", name.string(), one.loss, run::to_text(one.scores),
               ensemble.weights.empty() ? "" : fmt::format(", weight {:.3f}", ensemble.weights[i]));
  }
  const char* how = ensemble.combine == api::Combine::mean   ? "mean of predictions"
                    : ensemble.combine == api::Combine::vote ? "vote"
                                                             : "weighted mean";
  fmt::print("{:<24} loss {:.4f}, {}\n", fmt::format("all {}, {}", result.members.size(), how),
             result.all.loss, run::to_text(result.all.scores));
  const std::string samples =
      fmt::format("{} {} samples; {}", format_count(result.samples),
                  predictor.first().measured_word(), format_duration(result.seconds));
  if (std::isfinite(result.disagreement)) {
    fmt::print("two members differ in {:.2f} % of {}\n", 100 * result.disagreement, samples);
  } else {
    fmt::print("{}\n", samples);
  }
  return kExitDone;
}

}  // namespace syrtos::cli

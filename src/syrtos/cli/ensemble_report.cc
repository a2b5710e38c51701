#include "syrtos/cli/ensemble_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "syrtos/api/ensemble.h"
#include "syrtos/base/format.h"

namespace syrtos::cli {

int eval_ensemble(const api::LoadRequest& request, bool json, const Context& context) {
  api::EnsemblePredictor predictor(request, surroundings(context));
  const api::EnsembleEvaluation result = predictor.evaluate_test(context.interrupted);
  if (context.interrupted()) {
    fmt::print(stderr, "interrupted\n");
    return kExitFailed;
  }
  const api::Ensemble& ensemble = predictor.ensemble();
  using Result = api::EnsembleEvaluation::Result;
  if (json) {
    nlohmann::json text = {{"ensemble", request.checkpoint.string()},
                           {"combine", to_string(ensemble.combine)},
                           {"samples", result.samples},
                           {"loss", result.all.loss},
                           {"accuracy", result.all.accuracy},
                           {"disagreement", result.disagreement},
                           {"seconds", result.seconds}};
    for (const Result& one : result.members) {
      text["members"].push_back(
          {{"member", one.member.string()}, {"loss", one.loss}, {"accuracy", one.accuracy}});
    }
    if (!ensemble.weights.empty()) text["weights"] = ensemble.weights;
    fmt::print("{}\n", text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return kExitDone;
  }
  const std::filesystem::path directory = std::filesystem::absolute(request.checkpoint);
  for (size_t i = 0; i < result.members.size(); ++i) {
    const Result& one = result.members[i];
    const auto name = std::filesystem::absolute(one.member).lexically_relative(directory);
    fmt::print("{:<24} loss {:.4f}, accuracy {:.2f} %{}\n", name.string(), one.loss,
               100 * one.accuracy,
               ensemble.weights.empty() ? "" : fmt::format(", weight {:.3f}", ensemble.weights[i]));
  }
  const char* how = ensemble.combine == api::Combine::mean   ? "mean of probabilities"
                    : ensemble.combine == api::Combine::vote ? "vote"
                                                             : "weighted mean";
  fmt::print("{:<24} loss {:.4f}, accuracy {:.2f} %\n",
             fmt::format("all {}, {}", result.members.size(), how), result.all.loss,
             100 * result.all.accuracy);
  fmt::print("two members differ in {:.2f} % of {} test samples; {}\n", 100 * result.disagreement,
             format_count(result.samples), format_duration(result.seconds));
  return kExitDone;
}

}  // namespace syrtos::cli

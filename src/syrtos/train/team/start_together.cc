#include "syrtos/train/team/start_together.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"
#include "syrtos/train/team/fingerprint.h"

namespace syrtos::train {

using nlohmann::json;

namespace {

json to_json(const Position& position) {
  return {{"step", position.step},         {"updates", position.updates},
          {"epoch", position.epoch},       {"used", position.used},
          {"loss_sum", position.loss_sum}, {"score_sum", position.score_sum},
          {"samples", position.samples},   {"unmeasured", position.unmeasured},
          {"best", position.best},         {"waited", position.waited},
          {"rate", position.rate}};
}

Position position_of(const json& text) {
  const json& best = text.at("best");  // null when there is none yet
  return {.step = text.at("step"),
          .updates = text.at("updates"),
          .epoch = text.at("epoch"),
          .used = text.at("used"),
          .loss_sum = text.at("loss_sum"),
          .score_sum = text.at("score_sum"),
          .samples = text.at("samples"),
          .unmeasured = text.at("unmeasured"),
          .best = best.is_null() ? NAN : best.get<double>(),
          .waited = text.at("waited"),
          .rate = text.at("rate")};
}

}  // namespace

world::Task<Position> compare_and_start(world::World& world, strategy::Meetings& meetings,
                                        const json& fingerprint, const Position& mine) {
  const auto decide = [&](const std::vector<std::string>& texts) {
    std::vector<std::string> names;
    for (size_t worker = 0; worker < texts.size(); ++worker) {
      names.push_back(world.name(static_cast<world::Rank>(worker)));
    }
    return json({{"error", differences(names, texts)}, {"position", to_json(mine)}}).dump();
  };
  const std::string answer = co_await meetings.meet(fingerprint.dump(), decide);
  const json decided = json::parse(answer);
  const std::string error = decided.at("error");
  if (!error.empty()) fail_request("{}", error);
  co_return position_of(decided.at("position"));
}

}  // namespace syrtos::train

#include "syrtos/train/epoch_report.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace syrtos::train {

using nlohmann::json;

json to_json(const EpochReport& report) {
  return {{"host", report.host},
          {"seconds", trace::to_json(report.seconds)},
          {"loss", report.training.loss},
          {"score", report.training.score},
          {"samples", report.training.samples},
          {"trained", report.trained},
          {"sums", report.sums},
          {"queue", report.queue},
          {"helped", report.helped}};
}

EpochReport epoch_report_of(const json& text) {
  EpochReport report{.host = text.at("host"),
                     .seconds = trace::division_from_json(text.at("seconds")),
                     .training = {.loss = text.at("loss"),
                                  .score = text.at("score"),
                                  .samples = text.at("samples")},
                     .trained = text.at("trained"),
                     .sums = {},
                     .queue = text.at("queue"),
                     .helped = text.at("helped")};
  // A sum that is not a number becomes null on its way.
  for (const json& sum : text.at("sums")) {
    report.sums.push_back(sum.is_null() ? NAN : sum.get<double>());
  }
  return report;
}

}  // namespace syrtos::train

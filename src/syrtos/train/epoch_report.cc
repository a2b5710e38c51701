#include "syrtos/train/epoch_report.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace syrtos::train {

using nlohmann::json;

double value_of(const run::EpochMetrics& metrics, job::Metric metric) {
  return metric == job::Metric::loss ? metrics.test_loss : metrics.test_accuracy;
}

json to_json(const EpochReport& report) {
  return {{"host", report.host},
          {"seconds", trace::to_json(report.seconds)},
          {"loss", report.training.loss},
          {"correct", report.training.correct},
          {"samples", report.training.samples},
          {"trained", report.trained},
          {"test_loss", report.evaluation.loss},
          {"test_accuracy", report.evaluation.accuracy},
          {"test_top5", report.evaluation.top5},
          {"test_samples", report.evaluation.samples},
          {"queue", report.queue},
          {"helped", report.helped}};
}

EpochReport epoch_report_of(const json& text) {
  // A loss that is not a number becomes null on its way.
  const json& loss = text.at("test_loss");
  return {.host = text.at("host"),
          .seconds = trace::division_from_json(text.at("seconds")),
          .training = {.loss = text.at("loss"),
                       .correct = text.at("correct"),
                       .samples = text.at("samples")},
          .trained = text.at("trained"),
          .evaluation = {.loss = loss.is_null() ? NAN : loss.get<double>(),
                         .accuracy = text.at("test_accuracy"),
                         .top5 = text.at("test_top5"),
                         .samples = text.at("test_samples")},
          .queue = text.at("queue"),
          .helped = text.at("helped")};
}

}  // namespace syrtos::train

#include "syrtos/report/test_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "syrtos/report/class_report.h"
#include "syrtos/report/label_report.h"

namespace syrtos::report {

using nlohmann::json;

namespace {

ClassReport classes_of(const run::TestScores& scores) {
  return make_class_report(scores.confusion, scores.names);
}

json to_json(const ClassScore& score) {
  return {{"name", score.name},
          {"precision", score.precision},
          {"recall", score.recall},
          {"f1", score.f1},
          {"samples", score.samples}};
}

json to_json(const ClassReport& report) {
  json classes = json::array();
  json confusion = json::array();
  for (size_t label = 0; label < report.names.size(); ++label) {
    classes.push_back(to_json(report.classes[label]));
    json row = json::array();
    for (size_t other = 0; other < report.names.size(); ++other) {
      row.push_back(report.count(label, other));
    }
    confusion.push_back(std::move(row));
  }
  return {{"classes", classes},
          {"mean_of_classes", to_json(report.mean)},
          {"mean_of_samples", to_json(report.weighted)},
          {"confusion", confusion}};
}

json to_json(const LabelScore& score) {
  json text = {{"name", score.name},
               {"precision", score.precision},
               {"recall", score.recall},
               {"f1", score.f1},
               {"samples", score.samples}};
  if (score.average_precision) text["average_precision"] = *score.average_precision;
  return text;
}

json to_json(const LabelReport& report) {
  json labels = json::array();
  for (const LabelScore& label : report.labels) labels.push_back(to_json(label));
  return {{"labels", labels},
          {"mean_of_labels", to_json(report.mean)},
          {"mean_of_samples", to_json(report.weighted)},
          {"all_labels", to_json(report.together)}};
}

/// Over the values, each counted once.
run::ValueErrors mean_of(const std::vector<run::ValueErrors>& values) {
  run::ValueErrors mean;
  const auto count = static_cast<double>(values.size());
  for (const run::ValueErrors& value : values) {
    mean.mae += value.mae / count;
    mean.rmse += value.rmse / count;
    mean.r2 += value.r2 / count;
  }
  return mean;
}

json value_json(const std::string& name, const run::ValueErrors& value) {
  return {{"name", name}, {"mae", value.mae}, {"rmse", value.rmse}, {"r2", value.r2}};
}

ScoreTable values_table(const run::TestScores& scores) {
  ScoreTable table{.columns = {"value", "MAE", "RMSE", "R2"}, .rows = {}};
  const auto row = [](const std::string& name, const run::ValueErrors& value) {
    return std::vector<std::string>{name, fmt::format("{:.5g}", value.mae),
                                    fmt::format("{:.5g}", value.rmse),
                                    fmt::format("{:.4f}", value.r2)};
  };
  for (size_t k = 0; k < scores.values.size(); ++k) {
    table.rows.push_back(row(scores.names[k], scores.values[k]));
  }
  if (scores.values.size() > 1) table.means.push_back(row("mean", mean_of(scores.values)));
  return table;
}

}  // namespace

ScoreTable table_of(const run::TestScores& scores) {
  if (!scores.confusion.empty()) return table_of(classes_of(scores));
  if (!scores.labels.empty()) return table_of(make_label_report(scores));
  return values_table(scores);
}

std::string report_text(const run::TestScores& scores) {
  if (!scores.confusion.empty()) return to_text(classes_of(scores));
  return to_text(table_of(scores));
}

json report_json(const run::TestScores& scores) {
  if (!scores.confusion.empty()) return to_json(classes_of(scores));
  if (!scores.labels.empty()) return to_json(make_label_report(scores));
  json values = json::array();
  for (size_t k = 0; k < scores.values.size(); ++k) {
    values.push_back(value_json(scores.names[k], scores.values[k]));
  }
  return {{"values", values}, {"mean_of_values", value_json("mean", mean_of(scores.values))}};
}

std::string report_svg(const run::TestScores& scores) {
  if (!scores.confusion.empty()) return to_svg(classes_of(scores));
  if (!scores.labels.empty()) return to_svg(make_label_report(scores));
  return values_svg(scores);
}

}  // namespace syrtos::report

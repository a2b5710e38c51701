// Draws what bench/plan_truth.py measured: predicted against measured step times.
//   truth_chart plan_truth.json FILE.svg|png

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"
#include "syrtos/report/plot.h"

using namespace syrtos;

namespace {

report::Chart truth_chart(const nlohmann::json& truth) {
  std::map<std::string, report::Series> clusters;
  for (const nlohmann::json& row : truth.at("measured")) {
    const std::string cluster = row.at("setting");
    report::Series& series = clusters[cluster];
    series.name = cluster;
    series.line = report::LineStyle::none;
    series.points.push_back(
        {1e3 * row.at("measured").get<double>(), 1e3 * row.at("predicted").get<double>()});
  }
  std::vector<report::Series> all;
  for (auto& [name, series] : clusters) all.push_back(std::move(series));
  report::Chart chart = report::compare_chart("Steps: predicted against measured", "measured ms",
                                              "predicted ms", std::move(all));
  chart.notes.push_back(truth.at("summary"));
  return chart;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: truth_chart plan_truth.json FILE.svg|png\n");
    return 2;
  }
  try {
    std::ifstream file(argv[1]);
    report::write_chart(truth_chart(nlohmann::json::parse(file)), argv[2]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
  return 0;
}

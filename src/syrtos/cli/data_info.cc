#include "syrtos/cli/data_info.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/cli/data_progress.h"
#include "syrtos/cli/output_file.h"
#include "syrtos/cli/progress.h"
#include "syrtos/cli/terminal.h"
#include "syrtos/data/contact_sheet.h"
#include "syrtos/data/open.h"
#include "syrtos/data/pictures/picture.h"
#include "syrtos/data/statistics.h"
#include "syrtos/data/target_statistics.h"

namespace syrtos::cli {

namespace {

using nlohmann::json;

constexpr size_t kMostRows = 40;  // classes that are shown as bars
constexpr int kHistogramWidth = 32;

struct Report {
  data::Found found;
  data::Splits splits;
  data::Statistics statistics;
  std::vector<int64_t> test_per_class;
  std::vector<data::ValueStatistics> values;  ///< of data without classes
  data::Normalization columns;                ///< of a table
};

Report look_at(const InfoOptions& options, const Context& context) {
  Report report;
  report.found = data::find(options.data, context.environment.cache_home);
  report.splits = data::open(options.data, context.environment.cache_home,
                             {.label_column = options.label_column});
  const data::Dataset& train = *report.splits.train;
  const int64_t samples = std::min(options.limit, train.size());
  DataProgress progress(stderr, options.data, context.environment.colour);
  try {
    report.statistics = data::measure(train, samples, [&](int64_t done) {
      if (done > 0) progress.amount(done, samples, data::Observer::Unit::samples);
      return !context.interrupted();
    });
  } catch (const RunError& error) {
    if (context.interrupted()) throw;
    throw RequestError(error.what());  // damaged data was asked for: nothing else was begun
  }
  if (train.info().is_table()) report.columns = data::measure_normalization(train, samples);
  const data::Dataset& test = *report.splits.test;
  report.test_per_class.resize(train.info().classes.size());
  if (train.info().targets.values > 0) report.values = data::measure_targets(train);
  for (int64_t i = 0; i < test.size() && !report.test_per_class.empty(); ++i) {
    const auto label = static_cast<size_t>(test.label(i));
    if (label < report.test_per_class.size()) ++report.test_per_class[label];
  }
  return report;
}

std::string size_text(const data::DatasetInfo& info, const data::Statistics& statistics) {
  const bool one_size = statistics.smallest_height == statistics.largest_height &&
                        statistics.smallest_width == statistics.largest_width;
  if (!info.same_size() && !one_size) {
    return fmt::format("{} channel{}, {}x{} to {}x{}", info.channels, info.channels == 1 ? "" : "s",
                       statistics.smallest_height, statistics.smallest_width,
                       statistics.largest_height, statistics.largest_width);
  }
  return fmt::format("{}x{}x{}", info.channels, statistics.largest_height,
                     statistics.largest_width);
}

/// What samples have instead of classes.
void print_statistics(const Report& report) {
  const data::DatasetInfo& info = report.splits.train->info();
  const data::TargetInfo& targets = info.targets;
  fmt::print("  {}     {}\n", targets.binary ? "labels" : "values", targets.values);
  size_t widest = 0;
  const size_t rows = std::min(report.values.size(), kMostRows);
  for (size_t k = 0; k < rows; ++k) {
    widest = std::max(widest, static_cast<size_t>(width_of(targets.name(static_cast<int64_t>(k)))));
  }
  for (size_t k = 0; k < rows; ++k) {
    const std::string name = targets.name(static_cast<int64_t>(k));
    const data::ValueStatistics& value = report.values[k];
    const std::string gap(widest - static_cast<size_t>(width_of(name)), ' ');
    if (targets.binary) {
      fmt::print("    {}{} {} {:>7.2f} %\n", name, gap, bar(value.mean, kHistogramWidth),
                 100 * value.mean);
    } else {
      fmt::print("    {}{}  {:.5g} to {:.5g}, mean {:.5g}, deviation {:.5g}\n", name, gap,
                 value.least, value.most, value.mean, value.deviation);
    }
  }
  if (rows < report.values.size()) fmt::print("    ... and {} more\n", report.values.size() - rows);
  for (const std::string& note : info.notes) fmt::print("  note: {}\n", note);
}

std::string column_name(const data::DatasetInfo& info, size_t column) {
  return column < info.columns.size() ? info.columns[column] : std::to_string(column + 1);
}

/// Columns of a table mean different things: each is normalised by itself.
void print_columns(const Report& report, const std::string& of) {
  const data::DatasetInfo& info = report.splits.train->info();
  const data::Normalization& columns = report.columns;
  fmt::print("  columns    {}, mean and deviation of each{}\n", columns.mean.size(), of);
  int widest = 0;
  for (size_t c = 0; c < columns.mean.size(); ++c) {
    widest = std::max(widest, width_of(column_name(info, c)));
  }
  for (size_t c = 0; c < columns.mean.size(); ++c) {
    const std::string name = column_name(info, c);
    fmt::print("    {}{}  {:>10.5g} {:>10.5g}\n", name,
               std::string(static_cast<size_t>(widest - width_of(name)), ' '), columns.mean[c],
               columns.deviation[c]);
  }
}

void print_text(const Report& report) {
  const data::DatasetInfo& info = report.splits.train->info();
  const data::Statistics& statistics = report.statistics;
  fmt::print("{}\n", info.name);
  fmt::print("  path       {}\n", report.found.path.string());
  fmt::print("  format     {}\n", report.found.format);
  fmt::print("  samples    {} to train, {} to test\n", format_count(info.size),
             format_count(report.splits.test->size()));
  fmt::print("  size       {}, {}\n", size_text(info, statistics),
             info.dtype == DType::u8 ? "bytes" : "floats");
  const std::string of =
      statistics.samples < info.size
          ? fmt::format("  (of {} training samples)", format_count(statistics.samples))
          : "";
  if (!info.label_columns.empty()) {
    fmt::print("  {:<10} {}\n", info.label_columns.size() == 1 ? "label" : "labels",
               fmt::join(info.label_columns, ", "));
  }
  if (info.is_table()) {
    print_columns(report, of);
  } else {
    fmt::print("  mean       {:.5g}\n", fmt::join(statistics.mean, " "));
    fmt::print("  deviation  {:.5g}{}\n", fmt::join(statistics.deviation, " "), of);
  }
  if (info.targets.values > 0) {
    print_statistics(report);
    return;
  }
  fmt::print("  classes    {}\n", info.classes.size());
  const auto& counts = statistics.per_class;
  if (counts.empty()) return;
  const int64_t most = std::max<int64_t>(1, *std::max_element(counts.begin(), counts.end()));
  const size_t rows = std::min(info.classes.size(), kMostRows);
  size_t widest = 0;
  for (size_t k = 0; k < rows; ++k) {
    widest = std::max(widest, static_cast<size_t>(width_of(info.classes[k])));
  }
  for (size_t k = 0; k < rows; ++k) {
    fmt::print("    {}{} {} {:>9} {:>8}\n", info.classes[k],
               std::string(widest - static_cast<size_t>(width_of(info.classes[k])), ' '),
               bar(static_cast<double>(counts[k]) / static_cast<double>(most), kHistogramWidth),
               format_count(counts[k]), format_count(report.test_per_class[k]));
  }
  if (rows < info.classes.size()) {
    fmt::print("    ... and {} more, in all from {} to {} training samples each\n",
               info.classes.size() - rows,
               format_count(*std::min_element(counts.begin(), counts.end())), format_count(most));
  }
  for (const std::string& note : info.notes) fmt::print("  note: {}\n", note);
}

void print_info_json(const Report& report, const InfoOptions& options) {
  const data::DatasetInfo& info = report.splits.train->info();
  const data::Statistics& statistics = report.statistics;
  json classes = json::array();
  for (size_t k = 0; k < info.classes.size(); ++k) {
    classes.push_back({{"name", info.classes[k]},
                       {"training", statistics.per_class[k]},
                       {"test", report.test_per_class[k]}});
  }
  json values = json::array();
  for (size_t k = 0; k < report.values.size(); ++k) {
    const data::ValueStatistics& value = report.values[k];
    values.push_back({{"name", info.targets.name(static_cast<int64_t>(k))},
                      {"mean", value.mean},
                      {"deviation", value.deviation},
                      {"least", value.least},
                      {"most", value.most}});
  }
  json result = {{"data", options.data},
                 {"name", info.name},
                 {"path", report.found.path.string()},
                 {"format", report.found.format},
                 {"training", info.size},
                 {"test", report.splits.test->size()},
                 {"dtype", info.dtype == DType::u8 ? "u8" : "f32"},
                 {"channels", info.channels},
                 {"smallest", {statistics.smallest_height, statistics.smallest_width}},
                 {"largest", {statistics.largest_height, statistics.largest_width}},
                 {"mean", statistics.mean},
                 {"deviation", statistics.deviation},
                 {"measured", statistics.samples},
                 {"notes", info.notes},
                 {"classes", classes}};
  for (size_t c = 0; c < report.columns.mean.size(); ++c) {
    result["columns"].push_back({{"name", column_name(info, c)},
                                 {"mean", report.columns.mean[c]},
                                 {"deviation", report.columns.deviation[c]}});
  }
  if (!info.label_columns.empty()) result["label_columns"] = info.label_columns;
  if (!values.empty()) {
    result["values"] = values;
    result["binary"] = info.targets.binary;
  }
  fmt::print("{}\n", result.dump(-1, ' ', false, json::error_handler_t::replace));
}

void draw(const Report& report, const InfoOptions& options) {
  data::write_png(options.preview, data::contact_sheet(*report.splits.train));
}

}  // namespace

int print_info(const InfoOptions& options, const Context& context) {
  if (!options.preview.empty()) check_file_to_write("--preview", options.preview, {".png"});
  const Report report = look_at(options, context);
  if (!options.preview.empty()) draw(report, options);
  if (options.json) {
    print_info_json(report, options);
  } else {
    print_text(report);
    if (!options.preview.empty()) fmt::print("  drawn in   {}\n", options.preview);
  }
  return kExitDone;
}

}  // namespace syrtos::cli

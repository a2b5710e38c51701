#include "syrtos/report/label_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "syrtos/base/format.h"
#include "syrtos/report/plot.h"
#include "syrtos/report/text.h"

namespace syrtos::report {

namespace {

double ratio(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

LabelScore score_of(std::string name, const run::LabelCounts& counts) {
  return {.name = std::move(name),
          .precision = ratio(counts.found, counts.found + counts.wrong),
          .recall = ratio(counts.found, counts.found + counts.missed),
          .f1 = ratio(2 * counts.found, 2 * counts.found + counts.wrong + counts.missed),
          .average_precision = counts.average_precision,
          .samples = counts.found + counts.missed};
}

LabelScore mean_of(const std::vector<LabelScore>& labels, const std::string& name,
                   bool by_samples) {
  LabelScore mean{.name = name};
  double weights = 0;
  double average_precision = 0;
  bool known = !labels.empty();
  for (const LabelScore& label : labels) {
    const double weight = by_samples ? static_cast<double>(label.samples) : 1;
    mean.precision += weight * label.precision;
    mean.recall += weight * label.recall;
    mean.f1 += weight * label.f1;
    average_precision += weight * label.average_precision.value_or(0);
    known = known && label.average_precision.has_value();
    mean.samples += label.samples;
    weights += weight;
  }
  const double scale = weights > 0 ? 1 / weights : 0;
  mean.precision *= scale;
  mean.recall *= scale;
  mean.f1 *= scale;
  if (known) mean.average_precision = average_precision * scale;
  return mean;
}

std::vector<std::string> row_of(const LabelScore& score, bool has_precision) {
  std::vector<std::string> row = {score.name, fmt::format("{:.4f}", score.precision),
                                  fmt::format("{:.4f}", score.recall),
                                  fmt::format("{:.4f}", score.f1)};
  if (has_precision) {
    row.push_back(score.average_precision ? fmt::format("{:.4f}", *score.average_precision) : "");
  }
  row.push_back(format_count(score.samples));
  return row;
}

constexpr size_t kLongestName = 24;

}  // namespace

LabelReport make_label_report(const run::TestScores& scores) {
  LabelReport report;
  run::LabelCounts all;
  for (size_t k = 0; k < scores.labels.size(); ++k) {
    const run::LabelCounts& counts = scores.labels[k];
    report.labels.push_back(score_of(scores.names[k], counts));
    all.found += counts.found;
    all.wrong += counts.wrong;
    all.missed += counts.missed;
  }
  report.mean = mean_of(report.labels, "mean of labels", false);
  report.weighted = mean_of(report.labels, "mean of samples", true);
  report.together = score_of("all labels together", all);
  return report;
}

ScoreTable table_of(const LabelReport& report) {
  const bool precision = report.mean.average_precision.has_value();
  ScoreTable table{.columns = {"label", "precision", "recall", "F1"}, .rows = {}};
  if (precision) table.columns.emplace_back("average precision");
  table.columns.emplace_back("samples");
  for (const LabelScore& label : report.labels) table.rows.push_back(row_of(label, precision));
  for (const LabelScore& mean : {report.mean, report.weighted, report.together}) {
    table.means.push_back(row_of(mean, precision));
  }
  return table;
}

std::string to_svg(const LabelReport& report) {
  constexpr double kRow = 22, kBar = 8, kWide = 360, kTop = 34;
  size_t longest = 0;
  for (const LabelScore& label : report.labels) {
    longest = std::max(longest, std::min(kLongestName, length_of(label.name)));
  }
  const double left = 24 + 7.0 * static_cast<double>(longest);
  const double height = kTop + kRow * static_cast<double>(report.labels.size()) + 12;
  const bool precision = report.mean.average_precision.has_value();
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"11\">\n"
      "<title>how well each label is found</title>\n"
      "<style>.paper{{fill:#ffffff}}text{{fill:#1d242b}}.f1{{fill:#2a78b5}}.ap{{fill:#c2410c}}"
      "@media (prefers-color-scheme:dark){{.paper{{fill:#14181d}}text{{fill:#e6e9ec}}}}</style>\n"
      "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n"
      "<rect class=\"f1\" x=\"{2:.1f}\" y=\"12\" width=\"10\" height=\"8\"/>"
      "<text x=\"{3:.1f}\" y=\"20\">F1</text>\n",
      left + kWide + 60, height, left, left + 14);
  if (precision) {
    svg += fmt::format(
        "<rect class=\"ap\" x=\"{:.1f}\" y=\"12\" width=\"10\" height=\"8\"/>"
        "<text x=\"{:.1f}\" y=\"20\">average precision</text>\n",
        left + 50, left + 64);
  }
  const auto bar = [&](const char* kind, double top, double value) {
    return fmt::format(
        "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">"
        "<title>{:.4f}</title></rect>\n",
        kind, left, top, std::max(1.0, kWide * value), kBar, value);
  };
  double top = kTop;
  for (const LabelScore& label : report.labels) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", left - 6,
                       top + 11, escaped(shortened(label.name, kLongestName)));
    svg += bar("f1", top, label.f1);
    if (label.average_precision) svg += bar("ap", top + kBar + 1, *label.average_precision);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{:.3f}</text>\n", left + kWide + 8, top + 9,
                       label.f1);
    top += kRow;
  }
  return svg + "</svg>\n";
}

std::string values_svg(const run::TestScores& scores) {
  constexpr size_t kMost = 9;  // squares
  std::vector<std::string> squares;
  for (size_t k = 0; k < std::min(kMost, scores.values.size()); ++k) {
    const run::ValueErrors& value = scores.values[k];
    if (value.points.empty()) continue;
    Series points{.name = "", .points = {}, .line = LineStyle::none};
    double least = value.points[0].first, most = least;
    for (const auto& [truth, predicted] : value.points) {
      points.points.push_back({truth, predicted});
      least = std::min<double>({least, truth, predicted});
      most = std::max<double>({most, truth, predicted});
    }
    const Series diagonal{
        .points = {{least, least}, {most, most}}, .markers = false, .guide = true};
    squares.push_back(to_svg(Chart{
        .title = fmt::format("{}: MAE {:.4g}, R2 {:.3f}", scores.names[k], value.mae, value.r2),
        .x = {.label = "true", .from = least, .to = most},
        .y = {.label = "predicted", .from = least, .to = most},
        .series = {diagonal, points},
        .square = true}));
  }
  if (squares.size() <= 1) return squares.empty() ? "" : squares[0];
  // Each is a picture of its own, within one.
  constexpr double kSide = 480;
  const auto columns = static_cast<size_t>(std::ceil(std::sqrt(squares.size())));
  const size_t rows = (squares.size() + columns - 1) / columns;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\">\n",
      kSide * static_cast<double>(columns), kSide * static_cast<double>(rows));
  for (size_t i = 0; i < squares.size(); ++i) {
    svg +=
        fmt::format("<svg x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\">{}</svg>\n",
                    kSide * static_cast<double>(i % columns),
                    kSide * static_cast<double>(i / columns), kSide, kSide, squares[i]);
  }
  return svg + "</svg>\n";
}

}  // namespace syrtos::report

#include "syrtos/report/class_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/report/text.h"

namespace syrtos::report {

namespace {

constexpr size_t kConfusions = 5;  // that are named below the table

double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

ClassScore score_of(const ClassReport& report, size_t label) {
  int64_t taken = 0, samples = 0;
  for (size_t other = 0; other < report.names.size(); ++other) {
    taken += report.count(other, label);
    samples += report.count(label, other);
  }
  const int64_t right = report.count(label, label);
  ClassScore score{.name = report.names[label],
                   .precision = share(right, taken),
                   .recall = share(right, samples),
                   .samples = samples};
  const double sum = score.precision + score.recall;
  score.f1 = sum > 0 ? 2 * score.precision * score.recall / sum : 0;
  return score;
}

ClassScore mean_of(const ClassReport& report, const std::string& name, bool by_samples) {
  ClassScore mean{.name = name};
  double weights = 0;
  for (const ClassScore& score : report.classes) {
    const double weight = by_samples ? static_cast<double>(score.samples) : 1;
    mean.precision += weight * score.precision;
    mean.recall += weight * score.recall;
    mean.f1 += weight * score.f1;
    mean.samples += score.samples;
    weights += weight;
  }
  const double scale = weights > 0 ? 1 / weights : 0;
  mean.precision *= scale;
  mean.recall *= scale;
  mean.f1 *= scale;
  return mean;
}

std::vector<std::string> row_of(const ClassScore& score) {
  return {score.name, fmt::format("{:.4f}", score.precision), fmt::format("{:.4f}", score.recall),
          fmt::format("{:.4f}", score.f1), format_count(score.samples)};
}

struct Confusion {
  int64_t count = 0;
  size_t label = 0;
  size_t taken_for = 0;
};

std::vector<Confusion> most_frequent(const ClassReport& report) {
  std::vector<Confusion> found;
  const size_t classes = report.names.size();
  for (size_t label = 0; label < classes; ++label) {
    for (size_t other = 0; other < classes; ++other) {
      const int64_t count = report.count(label, other);
      if (other != label && count > 0) found.push_back({count, label, other});
    }
  }
  const size_t kept = std::min(kConfusions, found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept), found.end(),
                    [](const Confusion& a, const Confusion& b) { return a.count > b.count; });
  found.resize(kept);
  return found;
}

/// The picture's parts at their places. Beyond some classes there is no room for words.
class Matrix {
 public:
  explicit Matrix(const ClassReport& report)
      : report_(report), has_words_(report.names.size() <= kMostWithWords) {
    const auto classes = static_cast<double>(report.names.size());
    side_ = has_words_ ? 36 : std::max(2.0, 800 / classes);
    size_t longest = 0;
    for (const std::string& name : report.names) longest = std::max(longest, length_of(name));
    if (has_words_) margin_ += 7.0 * static_cast<double>(std::min(longest, kLongestName));
    size_ = margin_ + side_ * classes + 16;
  }

  double size() const { return size_; }

  std::string names_of(size_t label) const {
    if (!has_words_) return "";
    const std::string name = escaped(shortened(report_.names[label], kLongestName));
    const double middle = at(label) + side_ / 2 + 4;
    return fmt::format(
        "<text x=\"{0:.1f}\" y=\"{1:.1f}\" text-anchor=\"end\">{2}</text>\n"
        "<text transform=\"translate({1:.1f} {0:.1f}) rotate(-90)\">{2}</text>\n",
        margin_ - 6, middle, name);
  }

  std::string cell(size_t label, size_t taken_for) const {
    const int64_t count = report_.count(label, taken_for);
    if (count == 0) return "";
    const double part = share(count, report_.classes[label].samples);
    std::string text = fmt::format(
        "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
        "fill-opacity=\"{:.3f}\"><title>{} taken for {}: {}</title></rect>\n",
        label == taken_for ? "right" : "wrong", at(taken_for), at(label), side_, side_,
        0.08 + 0.62 * std::sqrt(part), escaped(report_.names[label]),
        escaped(report_.names[taken_for]), format_count(count));
    if (!has_words_) return text;
    return text + fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                              at(taken_for) + side_ / 2, at(label) + side_ / 2 + 4, count);
  }

 private:
  static constexpr size_t kMostWithWords = 25;
  static constexpr size_t kLongestName = 24;

  double at(size_t index) const { return margin_ + side_ * static_cast<double>(index); }

  const ClassReport& report_;
  bool has_words_;
  double side_ = 0;
  double margin_ = 24;
  double size_ = 0;
};

}  // namespace

ClassReport make_class_report(std::vector<int64_t> counts, std::vector<std::string> names) {
  const auto classes = static_cast<size_t>(std::llround(std::sqrt(counts.size())));
  SYRTOS_CHECK(classes * classes == counts.size() && classes > 0, "{} counts", counts.size());
  ClassReport report{.names = std::move(names), .counts = std::move(counts)};
  report.names.resize(classes);
  int64_t right = 0, samples = 0;
  for (size_t label = 0; label < classes; ++label) {
    if (report.names[label].empty()) report.names[label] = fmt::format("{}", label);
  }
  for (size_t label = 0; label < classes; ++label) {
    report.classes.push_back(score_of(report, label));
    right += report.count(label, label);
    samples += report.classes.back().samples;
  }
  report.accuracy = share(right, samples);
  report.mean = mean_of(report, "mean of classes", false);
  report.weighted = mean_of(report, "mean of samples", true);
  return report;
}

ScoreTable table_of(const ClassReport& report) {
  ScoreTable table{.columns = {"class", "precision", "recall", "F1", "samples"}, .rows = {}};
  for (const ClassScore& score : report.classes) table.rows.push_back(row_of(score));
  table.means = {row_of(report.mean), row_of(report.weighted)};
  return table;
}

std::string to_text(const ClassReport& report) {
  std::string text = to_text(table_of(report));
  const std::vector<Confusion> confusions = most_frequent(report);
  if (confusions.empty()) return text;
  text += "\nmost often confused:\n";
  for (const Confusion& confusion : confusions) {
    text += fmt::format("  {} taken for {}: {} of {}\n", report.names[confusion.label],
                        report.names[confusion.taken_for], format_count(confusion.count),
                        format_count(report.classes[confusion.label].samples));
  }
  return text;
}

std::string to_svg(const ClassReport& report) {
  const Matrix matrix(report);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {0:.0f}\" width=\"{0:.0f}\" "
      "height=\"{0:.0f}\" font-family=\"sans-serif\" font-size=\"11\">\n"
      "<title>rows are classes, columns what they were taken for</title>\n"
      "<style>.paper{{fill:#ffffff}}text{{fill:#1d242b}}.right{{fill:#2a78b5}}.wrong{{fill:#c2410c}"
      "}"
      "@media (prefers-color-scheme:dark){{.paper{{fill:#14181d}}text{{fill:#e6e9ec}}}}</style>\n"
      "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n",
      matrix.size());
  for (size_t label = 0; label < report.names.size(); ++label) {
    svg += matrix.names_of(label);
    for (size_t other = 0; other < report.names.size(); ++other) svg += matrix.cell(label, other);
  }
  return svg + "</svg>\n";
}

}  // namespace syrtos::report

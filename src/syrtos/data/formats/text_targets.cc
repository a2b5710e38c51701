#include "syrtos/data/formats/text_targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/data/formats/csv_fields.h"

namespace syrtos::data {

namespace {

bool is_number(const std::string& text) {
  float ignored = 0;
  return parse_csv_number(text, ignored);
}

std::string place_of(const Texts& texts, int64_t sample) {
  return fmt::format("{}:{}:", texts.name, texts.lines[static_cast<size_t>(sample)]);
}

Numbers numbers_of(const Texts& texts, std::span<const float> values) {
  return {.values = values,
          .each = texts.each(),
          .names = texts.names,
          .name = texts.name,
          .at = [texts](int64_t sample) { return place_of(texts, sample); },
          .more = "which column has them? See --label-column; "};
}

/// In a column that nobody named, numbers with fractions are what is measured, and not what is to
/// be found out.
void refuse_measures(const Texts& texts, std::span<const float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == std::floor(values[i])) continue;
    fail_request(
        "{} expected a label, found '{}'; which column has labels, or numbers to predict? See "
        "--label-column",
        place_of(texts, static_cast<int64_t>(i)), texts.texts[i]);
  }
}

}  // namespace

std::vector<float> parse_numbers(const Texts& texts) {
  std::vector<float> values(texts.texts.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (parse_csv_number(texts.texts[i], values[i])) continue;
    const auto column = i % texts.names.size();
    fail_request("{} expected a number in column '{}', found '{}'",
                 place_of(texts, static_cast<int64_t>(i / texts.names.size())), texts.names[column],
                 texts.texts[i].substr(0, 40));
  }
  return values;
}

Texts texts_of(const CsvRows& rows) {
  Texts texts{.texts = rows.labels,
              .names = {},
              .lines = rows.lines,
              .name = rows.name,
              .certain = rows.columns.certain};
  for (const size_t column : rows.columns.labels) texts.names.push_back(rows.columns.names[column]);
  return texts;
}

TextTargets::TextTargets(const Texts& training, TargetKind asked) {
  const bool names = training.each() == 1 && asked != TargetKind::values &&
                     !std::all_of(training.texts.begin(), training.texts.end(), is_number);
  if (names) {
    classes_.assign(training.texts.begin(), training.texts.end());
    std::sort(classes_.begin(), classes_.end());
    classes_.erase(std::unique(classes_.begin(), classes_.end()), classes_.end());
    return;
  }
  const std::vector<float> values = parse_numbers(training);
  if (!training.certain && asked == TargetKind::found_out) refuse_measures(training, values);
  numbers_.emplace(numbers_of(training, values), asked);
}

Targets TextTargets::read(const Texts& texts) const {
  if (numbers_) {
    const std::vector<float> values = parse_numbers(texts);
    return numbers_->read(numbers_of(texts, values));
  }
  std::vector<int32_t> labels;
  for (const std::string& text : texts.texts) {
    const auto found = std::lower_bound(classes_.begin(), classes_.end(), text);
    if (found == classes_.end() || *found != text) {
      fail_request("{} expected a label that is in the training data, found '{}'",
                   place_of(texts, static_cast<int64_t>(labels.size())), text);
    }
    labels.push_back(static_cast<int32_t>(found - classes_.begin()));
  }
  return labels;
}

void TextTargets::describe(DatasetInfo& info) const {
  if (numbers_) {
    numbers_->describe(info);
  } else {
    info.classes = classes_;
  }
}

}  // namespace syrtos::data

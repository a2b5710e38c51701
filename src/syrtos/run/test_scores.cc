#include "syrtos/run/test_scores.h"

#include <algorithm>

#include "syrtos/run/json.h"

namespace syrtos::run {

namespace {

json to_json(const LabelCounts& label) {
  json text = {{"found", label.found}, {"wrong", label.wrong}, {"missed", label.missed}};
  if (label.average_precision) text["average_precision"] = *label.average_precision;
  return text;
}

json to_json(const ValueErrors& value) {
  json text = {{"mae", value.mae}, {"rmse", value.rmse}, {"r2", value.r2}};
  if (!value.points.empty()) text["points"] = value.points;
  return text;
}

bool take_label(const json& entry, LabelCounts& label) {
  label.found = count_in(entry, "found", -1);
  label.wrong = count_in(entry, "wrong", -1);
  label.missed = count_in(entry, "missed", -1);
  if (entry.contains("average_precision")) {
    label.average_precision = number_in(entry, "average_precision");
  }
  return label.found >= 0 && label.wrong >= 0 && label.missed >= 0;
}

bool take_value(const json& entry, ValueErrors& value) {
  value.mae = number_in(entry, "mae", -1);
  value.rmse = number_in(entry, "rmse", -1);
  value.r2 = number_in(entry, "r2");
  const auto points = entry.find("points");
  if (points != entry.end() && points->is_array()) {
    for (const json& point : *points) {
      if (!point.is_array() || point.size() != 2 || !point[0].is_number() || !point[1].is_number())
        return false;
      value.points.emplace_back(point[0].get<float>(), point[1].get<float>());
    }
  }
  return value.mae >= 0 && value.rmse >= 0;
}

/// All of the list's whole numbers from 0 on; none when one is something else.
std::vector<int64_t> counts_in(const json& list) {
  std::vector<int64_t> counts;
  for (const json& count : list) {
    if (!count.is_number_unsigned()) return {};
    counts.push_back(count.get<int64_t>());
  }
  return counts;
}

}  // namespace

json to_json(const TestScores& scores) {
  json text = {{"set", scores.set}, {"samples", scores.samples}, {"names", scores.names}};
  if (scores.epoch > 0) text["epoch"] = scores.epoch;
  if (!scores.confusion.empty()) text["confusion"] = scores.confusion;
  for (const LabelCounts& label : scores.labels) text["labels"].push_back(to_json(label));
  for (const ValueErrors& value : scores.values) text["values"].push_back(to_json(value));
  return text;
}

void write(const Directory& directory, const TestScores& scores) {
  write_json(directory, File::scores, to_json(scores));
}

std::optional<TestScores> read_test_scores(const Directory& directory, Notes& notes) {
  const std::optional<json> object = read_object(directory, File::scores, notes);
  if (!object) return std::nullopt;
  TestScores scores;
  scores.epoch = count_in(*object, "epoch");
  scores.set = text_in(*object, "set");
  scores.samples = count_in(*object, "samples");
  const auto list = [&](const char* key) {
    const auto found = object->find(key);
    return found != object->end() && found->is_array() ? *found : json::array();
  };
  for (const json& name : list("names")) {
    scores.names.push_back(name.is_string() ? name.get<std::string>() : "?");
  }
  scores.confusion = counts_in(list("confusion"));
  scores.labels = items_of<LabelCounts>(list("labels"), File::scores, notes, take_label);
  scores.values = items_of<ValueErrors>(list("values"), File::scores, notes, take_value);
  const size_t each = scores.names.size();
  const bool whole = scores.confusion.size() == each * each || scores.labels.size() == each ||
                     scores.values.size() == each;
  if (each == 0 || !whole) {
    notes.push_back(
        fmt::format("{}: its entries do not belong together; left out", name_of(File::scores)));
    return std::nullopt;
  }
  return scores;
}

}  // namespace syrtos::run

#include "syrtos/run/live.h"

#include <algorithm>
#include <cmath>

#include "syrtos/run/json.h"
#include "syrtos/run/text_file.h"

namespace syrtos::run {

using trace::DivisionRecord;

namespace {

constexpr double kMostNumber = 9e15;

std::string to_text(const DivisionRecord& record) {
  return fmt::format("[{},{},{},{}]", record.step, record.steps, fmt::join(record.seconds, ","),
                     record.hidden_network);
}

bool take_record(const json& entry, DivisionRecord& record) {
  if (!entry.is_array() || entry.size() != trace::kParts + 3) return false;
  for (const json& value : entry) {
    if (!value.is_number()) return false;
    const auto number = value.get<double>();
    if (!(number >= 0 && number < kMostNumber)) return false;
  }
  record.step = entry[0].get<int64_t>();
  record.steps = std::max<int64_t>(1, entry[1].get<int64_t>());
  for (size_t i = 0; i < trace::kParts; ++i) record.seconds[i] = entry[i + 2].get<float>();
  record.hidden_network = entry[trace::kParts + 2].get<float>();
  return true;
}

}  // namespace

void replace(const Directory& directory, const std::vector<LiveRank>& ranks) {
  std::string text = "{\"ranks\":[";
  bool first = true;
  for (const LiveRank& rank : ranks) {
    if (rank.records.empty()) continue;
    text += fmt::format("{}{{\"rank\":{},\"host\":{},\"records\":[", first ? "" : ",\n", rank.rank,
                        to_text(json(rank.host)));
    for (size_t i = 0; i < rank.records.size(); ++i) {
      text += (i == 0 ? "" : ",") + to_text(rank.records[i]);
    }
    text += "]}";
    first = false;
  }
  replace_text(directory, File::live, text + "]}\n");
}

std::vector<LiveRank> read_live(const Directory& directory, Notes& notes) {
  std::vector<LiveRank> ranks;
  const std::optional<json> object = read_object(directory, File::live, notes);
  const json* list = object ? list_in(*object, File::live, "ranks", notes) : nullptr;
  if (list == nullptr) return ranks;
  for (const json& entry : *list) {
    LiveRank rank{rank_in(entry, "rank"), text_in(entry, "host"), {}};
    if (rank.rank < 0 || !entry.contains("records")) continue;
    for (const json& values : entry["records"]) {
      DivisionRecord record;
      if (take_record(values, record)) rank.records.push_back(record);
    }
    if (!rank.records.empty()) ranks.push_back(std::move(rank));
  }
  return ranks;
}

void forget_live(const Directory& directory) {
  std::error_code ignored;
  if (directory.is_writable()) std::filesystem::remove(directory.file(File::live), ignored);
}

}  // namespace syrtos::run

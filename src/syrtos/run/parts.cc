#include "syrtos/run/parts.h"

#include "syrtos/run/json.h"

namespace syrtos::run {

namespace {

json to_json(const TrainedPart& part) {
  json lost = json::array();
  for (const LostWorker& one : part.lost) {
    lost.push_back({{"rank", one.rank}, {"host", one.host}, {"step", one.step}});
  }
  return {{"first_step", part.first_step}, {"last_step", part.last_step}, {"workers", part.workers},
          {"exchange", part.exchange},     {"sync", part.sync},           {"wire", part.wire},
          {"update", part.update},         {"begun", part.begun},         {"ended", part.ended},
          {"lost", std::move(lost)}};
}

std::vector<LostWorker> lost_in(const json& part) {
  std::vector<LostWorker> lost;
  const auto list = part.find("lost");
  if (list == part.end() || !list->is_array()) return lost;
  for (const json& one : *list) {
    const int rank = rank_in(one, "rank");
    if (rank >= 0) lost.push_back({rank, text_in(one, "host"), count_in(one, "step")});
  }
  return lost;
}

bool take(const json& entry, TrainedPart& part) {
  part.first_step = count_in(entry, "first_step");
  part.last_step = count_in(entry, "last_step");
  part.workers = count_in(entry, "workers");
  part.exchange = text_in(entry, "exchange");
  part.sync = text_in(entry, "sync");
  part.wire = text_in(entry, "wire");
  part.update = text_in(entry, "update");
  part.begun = number_in(entry, "begun");
  part.ended = number_in(entry, "ended");
  part.lost = lost_in(entry);
  return part.first_step > 0 && part.last_step >= part.first_step - 1 && part.workers > 0 &&
         part.workers <= kMostRanks;
}

}  // namespace

bool TrainedPart::same_team(const TrainedPart& other) const {
  return workers == other.workers && exchange == other.exchange && sync == other.sync &&
         wire == other.wire && update == other.update;
}

void write(const Directory& directory, const std::vector<TrainedPart>& parts) {
  json list = json::array();
  for (const TrainedPart& part : parts) list.push_back(to_json(part));
  write_json(directory, File::parts, {{"parts", std::move(list)}});
}

std::vector<TrainedPart> read_parts(const Directory& directory, Notes& notes) {
  const std::optional<json> object = read_object(directory, File::parts, notes);
  const json* list = object ? list_in(*object, File::parts, "parts", notes) : nullptr;
  if (list == nullptr) return {};
  return items_of<TrainedPart>(*list, File::parts, notes, take);
}

}  // namespace syrtos::run

#include "syrtos/run/parts.h"

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/run/json.h"

namespace syrtos::run {

namespace {

json to_json(const PartTime& time) {
  return {{"start", time.start},     {"data", time.data},         {"set_up", time.set_up},
          {"meeting", time.meeting}, {"training", time.training}, {"end", time.end}};
}

PartTime time_in(const json& part) {
  const auto time = part.find("time");
  if (time == part.end() || !time->is_object()) return {};
  const auto seconds = [&](const char* key) { return std::max(0.0, number_in(*time, key)); };
  return {.start = seconds("start"),
          .data = seconds("data"),
          .set_up = seconds("set_up"),
          .meeting = seconds("meeting"),
          .training = seconds("training"),
          .end = seconds("end")};
}

json to_json(const TrainedPart& part) {
  json lost = json::array();
  for (const LostWorker& one : part.lost) {
    lost.push_back({{"rank", one.rank}, {"host", one.host}, {"step", one.step}});
  }
  return {{"first_step", part.first_step},
          {"last_step", part.last_step},
          {"team", part.team},
          {"workers", part.workers},
          {"exchange", part.exchange},
          {"sync", part.sync},
          {"wire", part.wire},
          {"update", part.update},
          {"split", part.split},
          {"network_parts", part.network_parts},
          {"begun", part.begun},
          {"ended", part.ended},
          {"time", to_json(part.time)},
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

bool take_part(const json& entry, TrainedPart& part) {
  part.first_step = count_in(entry, "first_step");
  part.last_step = count_in(entry, "last_step");
  part.team = entry.contains("team") ? count_in(entry, "team") : 1;
  part.workers = count_in(entry, "workers");
  part.exchange = text_in(entry, "exchange");
  part.sync = text_in(entry, "sync");
  part.wire = text_in(entry, "wire");
  part.update = text_in(entry, "update");
  part.split = text_in(entry, "split");
  part.network_parts = entry.contains("network_parts") ? count_in(entry, "network_parts") : 1;
  part.begun = number_in(entry, "begun");
  part.ended = number_in(entry, "ended");
  part.time = time_in(entry);
  part.lost = lost_in(entry);
  return part.first_step > 0 && part.last_step >= part.first_step - 1 && part.workers > 0 &&
         part.workers <= kMostRanks && part.network_parts > 0 &&
         part.workers % part.network_parts == 0;
}

}  // namespace

bool TrainedPart::same_team(const TrainedPart& other) const {
  return workers == other.workers && exchange == other.exchange && sync == other.sync &&
         wire == other.wire && update == other.update && split == other.split &&
         network_parts == other.network_parts;
}

void write(const Directory& directory, const std::vector<TrainedPart>& parts) {
  json list = json::array();
  for (const TrainedPart& part : parts) list.push_back(to_json(part));
  write_json(directory, File::parts, {{"parts", std::move(list)}});
}

void close_account(const Directory& directory, double seconds) {
  Notes unused;
  std::vector<TrainedPart> parts = read_parts(directory, unused);
  if (parts.empty() || parts.back().time.sum() <= 0) return;
  double known = 0;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    known += part->time.sum();
    if (part->team <= 1) break;
  }
  PartTime& time = parts.back().time;
  const double missing = seconds - known;
  if (missing >= 0) {
    time.end += missing;
  } else {
    time.start = std::max(0.0, time.start + missing);  // clocks of two hosts
  }
  try {
    write(directory, parts);
  } catch (const RunError&) {
    // The run is complete without it.
  }
}

std::vector<TrainedPart> read_parts(const Directory& directory, Notes& notes) {
  const std::optional<json> object = read_object(directory, File::parts, notes);
  const json* list = object ? list_in(*object, File::parts, "parts", notes) : nullptr;
  if (list == nullptr) return {};
  return items_of<TrainedPart>(*list, File::parts, notes, take_part);
}

}  // namespace syrtos::run

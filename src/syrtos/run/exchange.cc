#include "syrtos/run/exchange.h"

#include <algorithm>
#include <charconv>

#include "syrtos/run/json.h"

namespace syrtos::run {

namespace {

json to_json(const BucketTimes& bucket) {
  return {{"first_layer", bucket.first_layer},
          {"last_layer", bucket.last_layer},
          {"bytes", bucket.bytes},
          {"ready_s", bucket.ready_s},
          {"arrived_s", bucket.arrived_s},
          {"exposed_s", bucket.exposed_s}};
}

bool take_bucket(const json& entry, BucketTimes& bucket) {
  bucket.first_layer = text_in(entry, "first_layer");
  bucket.last_layer = text_in(entry, "last_layer");
  bucket.bytes = number_in(entry, "bytes", -1);
  bucket.ready_s = std::max(0.0, number_in(entry, "ready_s"));
  bucket.arrived_s = std::max(0.0, number_in(entry, "arrived_s"));
  bucket.exposed_s = std::max(0.0, number_in(entry, "exposed_s"));
  return bucket.bytes > 0;
}

template <typename Item>
json list_of(const std::vector<Item>& items) {
  json list = json::array();
  for (const Item& item : items) list.push_back(to_json(item));
  return list;
}

std::map<int64_t, int64_t> staleness_in(const json& object) {
  std::map<int64_t, int64_t> staleness;
  const auto found = object.find("staleness");
  if (found == object.end() || !found->is_object()) return staleness;
  for (const auto& [key, value] : found->items()) {
    int64_t updates = 0;
    const char* last = key.data() + key.size();
    const auto [end, error] = std::from_chars(key.data(), last, updates);
    const int64_t times = count_in(*found, key.c_str(), -1);
    if (error == std::errc() && end == last && times >= 0) staleness[updates] = times;
  }
  return staleness;
}

std::vector<RankTraffic> ranks_in(const json& object, const char* key) {
  std::vector<RankTraffic> ranks;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return ranks;
  for (const json& entry : *found) {
    if (auto rank = rank_traffic_from_json(entry)) ranks.push_back(std::move(*rank));
  }
  return ranks;
}

std::vector<LinkTraffic> links_in(const json& rank) {
  std::vector<LinkTraffic> links;
  const auto found = rank.find("links");
  if (found == rank.end() || !found->is_array()) return links;
  for (const json& entry : *found) {
    const LinkTraffic link{.to = rank_in(entry, "to"),
                           .bytes = number_in(entry, "bytes"),
                           .seconds = number_in(entry, "seconds"),
                           .retransmitted = count_in(entry, "retransmitted")};
    if (link.to >= 0 && link.bytes > 0 && link.seconds > 0) links.push_back(link);
  }
  return links;
}

}  // namespace

json to_json(const RankTraffic& rank) {
  json links = json::array();
  for (const LinkTraffic& link : rank.links) {
    links.push_back({{"to", link.to},
                     {"bytes", link.bytes},
                     {"seconds", link.seconds},
                     {"retransmitted", link.retransmitted}});
  }
  return {{"rank", rank.rank},
          {"host", rank.host},
          {"clock_error_s", rank.clock_error_s},
          {"seconds", rank.seconds},
          {"measuring_s", rank.measuring_s},
          {"bytes_sent", rank.bytes_sent},
          {"bytes_received", rank.bytes_received},
          {"messages_sent", rank.messages_sent},
          {"messages_received", rank.messages_received},
          {"machine", rank.machine},
          {"process", rank.process},
          {"cores", rank.cores},
          {"threads", rank.threads},
          {"cpu_s", rank.cpu_s},
          {"ready_s", rank.ready_s},
          {"links", std::move(links)}};
}

std::optional<RankTraffic> rank_traffic_from_json(const json& object) {
  const int rank = rank_in(object, "rank");
  if (rank < 0) return std::nullopt;
  return RankTraffic{.rank = rank,
                     .host = text_in(object, "host"),
                     .clock_error_s = number_in(object, "clock_error_s"),
                     .seconds = number_in(object, "seconds"),
                     .measuring_s = number_in(object, "measuring_s"),
                     .bytes_sent = count_in(object, "bytes_sent"),
                     .bytes_received = count_in(object, "bytes_received"),
                     .messages_sent = count_in(object, "messages_sent"),
                     .messages_received = count_in(object, "messages_received"),
                     .machine = text_in(object, "machine"),
                     .process = count_in(object, "process"),
                     .cores = count_in(object, "cores"),
                     .threads = count_in(object, "threads"),
                     .cpu_s = std::max(0.0, number_in(object, "cpu_s")),
                     .ready_s = std::max(0.0, number_in(object, "ready_s")),
                     .links = links_in(object)};
}

bool ExchangeProfile::same_team(const ExchangeProfile& other) const {
  return workers == other.workers && exchange == other.exchange && sync == other.sync &&
         wire == other.wire;
}

void write(const Directory& directory, const ExchangeProfile& profile) {
  json text = {{"workers", profile.workers},
               {"exchange", profile.exchange},
               {"sync", profile.sync},
               {"wire", profile.wire},
               {"buckets", list_of(profile.buckets)},
               {"staleness", json::object()},
               {"ranks", list_of(profile.ranks)},
               {"bytes_sent", profile.bytes_sent},
               {"bytes_received", profile.bytes_received},
               {"messages", profile.messages},
               {"clock_error_s", profile.clock_error_s}};
  if (!profile.servers.empty()) text["servers"] = list_of(profile.servers);
  if (profile.measuring_share > 0) text["measuring_share"] = profile.measuring_share;
  if (profile.planned_step_s > 0) text["plan"] = {{"step", profile.planned_step_s}};
  for (const auto& [updates, pushes] : profile.staleness) {
    text["staleness"][std::to_string(updates)] = pushes;
  }
  write_json(directory, File::exchange, text);
}

std::optional<ExchangeProfile> read_exchange(const Directory& directory, Notes& notes) {
  const std::optional<json> object = read_object(directory, File::exchange, notes);
  if (!object) return std::nullopt;
  ExchangeProfile profile;
  profile.workers = count_in(*object, "workers");
  profile.exchange = text_in(*object, "exchange");
  profile.sync = text_in(*object, "sync");
  profile.wire = text_in(*object, "wire");
  if (const json* buckets = list_in(*object, File::exchange, "buckets", notes)) {
    profile.buckets = items_of<BucketTimes>(*buckets, File::exchange, notes, take_bucket);
  }
  profile.staleness = staleness_in(*object);
  profile.ranks = ranks_in(*object, "ranks");
  profile.servers = ranks_in(*object, "servers");
  profile.bytes_sent = count_in(*object, "bytes_sent");
  profile.bytes_received = count_in(*object, "bytes_received");
  profile.messages = count_in(*object, "messages");
  profile.clock_error_s = number_in(*object, "clock_error_s");
  profile.measuring_share = number_in(*object, "measuring_share");
  if (const auto plan = object->find("plan"); plan != object->end()) {
    profile.planned_step_s = number_in(*plan, "step");
  }
  return profile;
}

}  // namespace syrtos::run

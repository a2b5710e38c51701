#include "syrtos/train/earlier.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "syrtos/base/error.h"

namespace syrtos::train {

using nlohmann::json;
using trace::DivisionRecord;
using trace::RankDivision;

namespace {

constexpr size_t kMostRecords = 20'000;  // of a rank
constexpr const char* kTraffic[] = {"bytes_sent", "bytes_received", "messages_sent",
                                    "messages_received"};

json read_object(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  json value = in ? json::parse(in, nullptr, false) : json();
  return value.is_object() ? value : json();
}

/// A record that goes on after that step keeps its share.
void cut(RankDivision& rank, int64_t steps_done) {
  std::erase_if(rank.records, [&](const DivisionRecord& one) { return one.step > steps_done; });
  if (rank.records.empty()) return;
  DivisionRecord& last = rank.records.back();
  const int64_t kept = std::min(last.steps, steps_done - last.step + 1);
  const auto share = static_cast<float>(kept) / static_cast<float>(last.steps);
  last.steps = kept;
  for (float& seconds : last.seconds) seconds *= share;
  last.hidden_network *= share;
}

/// Neighbours are added up until there are few enough.
void thin_out(RankDivision& rank) {
  std::vector<DivisionRecord>& records = rank.records;
  for (bool thinner = true; thinner && records.size() > kMostRecords;) {
    std::vector<DivisionRecord> fewer;
    for (const DivisionRecord& record : records) {
      const bool follows = !fewer.empty() && fewer.back().steps <= record.steps &&
                           fewer.back().step + fewer.back().steps == record.step;
      if (follows) {
        fewer.back() += record;
      } else {
        fewer.push_back(record);
      }
    }
    thinner = fewer.size() < records.size();
    records = std::move(fewer);
  }
}

int64_t end_of(const std::vector<RankDivision>& ranks) {
  for (const RankDivision& rank : ranks) {
    if (rank.rank != 0 || rank.records.empty()) continue;
    const DivisionRecord& last = rank.records.back();
    return last.start + std::llround(last.division().sum() * 1e9);
  }
  return 0;
}

/// Parts of the run as far as they still count.
json parts_until(const json& file, int64_t steps_done) {
  json kept = json::array();
  const json all = file.is_object() ? file.value("parts", json()) : json();
  if (!all.is_array()) return kept;
  for (const json& part : all) {
    if (!part.is_object()) continue;
    const json first = part.value("first_step", json());
    if (!first.is_number_integer() || first.get<int64_t>() > steps_done) continue;
    kept.push_back(part);
    json& last = kept.back()["last_step"];
    last = std::min(steps_done, last.is_number_integer() ? last.get<int64_t>() : steps_done);
  }
  return kept;
}

/// A process that was killed has gone on sampling after its last checkpoint. The sample in which
/// that was taken ends there.
json hosts_until(const json& hosts, int64_t end) {
  json kept = json::object();
  if (!hosts.is_object()) return kept;
  for (const auto& [host, samples] : hosts.items()) {
    if (!samples.is_array()) continue;
    json& list = kept[host] = json::array();
    for (const json& sample : samples) {
      const json time = sample.is_object() ? sample.value("time", json()) : json();
      if (!time.is_number_integer()) continue;
      list.push_back(sample);
      if (time.get<int64_t>() < end) continue;
      list.back()["time"] = end;
      break;
    }
  }
  return kept;
}

bool same(const json& a, const json& b, std::initializer_list<const char*> keys) {
  return std::all_of(keys.begin(), keys.end(),
                     [&](const char* key) { return a.value(key, json()) == b.value(key, json()); });
}

/// Adds a number to what stands under the same key.
void add(json& to, const json& from, const char* key) {
  const json more = from.value(key, json());
  if (!more.is_number()) return;
  if (more.is_number_integer() && to.at(key).is_number_integer()) {
    to[key] = to.at(key).get<int64_t>() + more.get<int64_t>();
  } else {
    to[key] = to.at(key).get<double>() + more.get<double>();
  }
}

}  // namespace

Earlier read_earlier(const RunDirectory& directory, int64_t steps_done) {
  Earlier earlier;
  earlier.parts = parts_until(read_object(directory.parts()), steps_done);
  if (earlier.parts.empty()) return earlier;
  try {
    earlier.divisions = trace::salvage_divisions(directory.steps()).ranks;
  } catch (const RequestError&) {
    return earlier;
  }
  for (RankDivision& rank : earlier.divisions) {
    cut(rank, steps_done);
    thin_out(rank);
  }
  std::erase_if(earlier.divisions, [](const RankDivision& rank) { return rank.records.empty(); });
  earlier.end = end_of(earlier.divisions);
  if (earlier.end > 0) earlier.hosts = hosts_until(read_object(directory.hosts()), earlier.end);
  earlier.operators = read_object(directory.operators());
  earlier.exchange = read_object(directory.exchange());
  return earlier;
}

std::vector<RankDivision> continued(std::vector<RankDivision> earlier,
                                    const std::vector<RankDivision>& own, int64_t later) {
  for (const RankDivision& rank : own) {
    auto known = std::find_if(earlier.begin(), earlier.end(),
                              [&](const RankDivision& one) { return one.rank == rank.rank; });
    if (known == earlier.end()) known = earlier.insert(known, {rank.rank, {}});
    for (DivisionRecord record : rank.records) {
      record.start = std::max<int64_t>(0, record.start + later);
      known->records.push_back(record);
    }
  }
  return earlier;
}

void add_operators(json& operators, const json& earlier) {
  if (!earlier.is_object() ||
      !same(operators, earlier, {"network", "batch", "precision", "threads"}))
    return;
  const json before = earlier.value("items", json());
  json& items = operators["items"];
  if (!before.is_array() || before.size() != items.size()) return;
  for (size_t i = 0; i < items.size(); ++i) {
    const bool alike = before[i].is_object() &&
                       same(items[i], before[i], {"layer", "operation", "kernel", "phase"});
    if (!alike) return;
  }
  for (size_t i = 0; i < items.size(); ++i) {
    for (const char* key : {"calls", "seconds", "flops", "bytes"}) add(items[i], before[i], key);
  }
}

void add_exchange(json& exchange, const json& earlier) {
  if (!earlier.is_object() || !same(exchange, earlier, {"workers", "exchange", "sync", "wire"}))
    return;
  for (const char* key : {"bytes_sent", "bytes_received", "messages"}) add(exchange, earlier, key);
  for (const char* list : {"ranks", "servers"}) {
    const json told = earlier.value(list, json());
    if (!exchange.contains(list) || !told.is_array()) continue;
    for (json& rank : exchange[list]) {
      for (const json& before : told) {
        if (!before.is_object() || !same(rank, before, {"rank", "host"})) continue;
        for (const char* key : kTraffic) add(rank, before, key);
      }
    }
  }
  const json staleness = earlier.value("staleness", json());
  if (!staleness.is_object()) return;
  for (const auto& [updates, pushes] : staleness.items()) {
    json& sum = exchange["staleness"][updates];
    if (sum.is_null()) sum = 0;
    add(exchange["staleness"], staleness, updates.c_str());
  }
}

}  // namespace syrtos::train

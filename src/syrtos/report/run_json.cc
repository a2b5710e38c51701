#include "syrtos/report/run_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <utility>

#include "syrtos/base/error.h"
#include "syrtos/report/run_files.h"

namespace syrtos::report {

namespace {

constexpr double kMostWhole = 9e15;
constexpr int64_t kMostRanks = 1'000'000;

/// The file as a JSON object; a discarded value (and a note) when it is none.
json read_json(Run& run, const char* name) {
  if (!has_file(run, name)) return json(json::value_t::discarded);
  std::ifstream in(run.path / name, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  json value;
  try {
    value = json::parse(text);
    if (value.is_object()) return value;
    run.notes.push_back(
        fmt::format("{}: expected an object, found {}; left out", name, value.type_name()));
  } catch (const json::parse_error& error) {
    run.notes.push_back(
        fmt::format("{}: damaged at byte {} of {}; left out", name, error.byte, text.size()));
  }
  return json(json::value_t::discarded);
}

bool has_list(Run& run, const json& object, const char* name, const char* key) {
  if (object.is_discarded()) return false;
  const auto found = object.find(key);
  if (found != object.end() && found->is_array()) return true;
  run.notes.push_back(fmt::format(
      "{}: expected the list '{}', found none: written by another version; left out", name, key));
  return false;
}

/// The same with a list under this key.
json read_json(Run& run, const char* name, const char* key) {
  json object = read_json(run, name);
  if (has_list(run, object, name, key)) return object;
  return json(json::value_t::discarded);
}

/// Each of the list's objects that `take` accepts.
template <typename Item, typename Take>
std::vector<Item> items_of(Run& run, const json& list, const char* name, Take take) {
  std::vector<Item> items;
  size_t bad = 0;
  for (const json& entry : list) {
    Item item;
    if (entry.is_object() && take(entry, item)) {
      items.push_back(std::move(item));
    } else {
      ++bad;
    }
  }
  if (bad > 0) {
    run.notes.push_back(
        fmt::format("{}: {} of {} entries make no sense; left out", name, bad, list.size()));
  }
  return items;
}

}  // namespace

double number_in(const json& object, const char* key, double otherwise) {
  if (!object.is_object()) return otherwise;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return otherwise;
  const double value = found->get<double>();
  return std::isfinite(value) ? value : otherwise;
}

int64_t count_in(const json& object, const char* key, int64_t otherwise) {
  const double value = number_in(object, key, static_cast<double>(otherwise));
  return value >= 0 && value < kMostWhole ? static_cast<int64_t>(value) : otherwise;
}

std::string text_in(const json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

trace::StepDivision division_in(const json& object, const char* key) {
  trace::StepDivision division;
  const auto found = object.find(key);
  if (found == object.end()) return division;
  for (size_t i = 0; i < trace::kParts; ++i) {
    division.seconds[i] = std::max(0.0, number_in(*found, trace::kPartNames[i].data()));
  }
  division.hidden_network = std::max(0.0, number_in(*found, "hidden_network"));
  return division;
}

RunEpoch epoch_from(const json& entry) {
  RunEpoch epoch;
  epoch.epoch = count_in(entry, "epoch");
  epoch.step = count_in(entry, "step");
  epoch.samples = count_in(entry, "samples");
  epoch.train_loss = number_in(entry, "train_loss");
  epoch.train_accuracy = number_in(entry, "train_accuracy");
  if (entry.contains("test_loss")) epoch.test_loss = number_in(entry, "test_loss");
  if (entry.contains("test_accuracy")) epoch.test_accuracy = number_in(entry, "test_accuracy");
  epoch.learning_rate = number_in(entry, "lr");
  epoch.images_per_s = number_in(entry, "images_per_s");
  epoch.queue = number_in(entry, "queue");
  epoch.helped = number_in(entry, "helped");
  epoch.seconds = division_in(entry, "seconds");
  return epoch;
}

namespace {

std::vector<RunLost> lost_in(const json& part) {
  std::vector<RunLost> lost;
  const auto list = part.find("lost");
  if (list == part.end() || !list->is_array()) return lost;
  for (const json& one : *list) {
    const int64_t rank = count_in(one, "rank");
    if (rank >= kMostRanks) continue;
    lost.push_back({static_cast<int>(rank), text_in(one, "host"), count_in(one, "step")});
  }
  return lost;
}

}  // namespace

void read_parts(Run& run) {
  const json object = read_json(run, "parts.json", "parts");
  if (object.is_discarded()) return;
  run.parts =
      items_of<RunPart>(run, object["parts"], "parts.json", [](const json& entry, RunPart& part) {
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
      });
  if (run.parts.empty()) return;
  run.lost = run.parts.back().lost;
  // Who trains may change when a run goes on.
  const RunPart& last = run.parts.back();
  run.job.workers = last.workers;
  run.job.exchange = last.exchange;
  run.job.sync = last.sync;
  run.job.wire = last.wire;
  if (!last.update.empty()) run.job.update = last.update;
  std::erase_if(run.parts, [](const RunPart& part) { return part.last_step < part.first_step; });
}

namespace {

/// [step, steps, seconds of each part, hidden network]
bool record_from(const json& entry, trace::DivisionRecord& record) {
  if (!entry.is_array() || entry.size() != trace::kParts + 3) return false;
  for (const json& value : entry) {
    if (!value.is_number()) return false;
    const auto number = value.get<double>();
    if (!(number >= 0 && number < kMostWhole)) return false;
  }
  record.step = entry[0].get<int64_t>();
  record.steps = std::max<int64_t>(1, entry[1].get<int64_t>());
  for (size_t i = 0; i < trace::kParts; ++i) record.seconds[i] = entry[i + 2].get<float>();
  record.hidden_network = entry[trace::kParts + 2].get<float>();
  return true;
}

int64_t last_step(const std::vector<RunRank>& ranks) {
  int64_t last = 0;
  for (const RunRank& rank : ranks) {
    if (rank.records.empty()) continue;
    last = std::max(last, rank.records.back().step + rank.records.back().steps);
  }
  return last;
}

}  // namespace

void read_live(Run& run) {
  const json object = read_json(run, "live.json", "ranks");
  if (object.is_discarded()) return;
  Run live;
  for (const json& entry : object["ranks"]) {
    const double number = number_in(entry, "rank", -1);
    if (!(number >= 0 && number < kMostRanks) || !entry.contains("records")) continue;
    RunRank& rank = rank_of(live, static_cast<int>(number));
    rank.host = text_in(entry, "host");
    for (const json& values : entry["records"]) {
      trace::DivisionRecord record;
      if (record_from(values, record)) rank.records.push_back(record);
    }
  }
  std::erase_if(live.ranks, [](const RunRank& rank) { return rank.records.empty(); });
  if (last_step(live.ranks) <= last_step(run.ranks)) return;
  // What is in the table is finer.
  for (RunRank& rank : live.ranks) {
    RunRank& known = rank_of(run, rank.rank);
    known.host = rank.host;
    if (std::exchange(known.per_epoch, false)) known.records.clear();
    const int64_t next =
        known.records.empty() ? 0 : known.records.back().step + known.records.back().steps;
    for (const trace::DivisionRecord& record : rank.records) {
      if (record.step >= next) known.records.push_back(record);
    }
  }
  std::sort(run.ranks.begin(), run.ranks.end(),
            [](const RunRank& a, const RunRank& b) { return a.rank < b.rank; });
}

void read_hosts(Run& run) {
  const json hosts = read_json(run, "hosts.json");
  if (hosts.is_discarded()) return;
  for (const auto& [name, list] : hosts.items()) {
    if (!list.is_array()) {
      run.notes.push_back(fmt::format("hosts.json: no list for {}; left out", name));
      continue;
    }
    RunHost host{.name = name};
    host.samples = items_of<trace::HostSample>(run, list, "hosts.json",
                                               [](const json& entry, trace::HostSample& sample) {
                                                 try {
                                                   sample = trace::host_sample_from_json(entry);
                                                   return true;
                                                 } catch (const RequestError&) {
                                                   return false;
                                                 }
                                               });
    run.hosts.push_back(std::move(host));
  }
}

void read_operators(Run& run) {
  const json object = read_json(run, "operators.json", "items");
  if (object.is_discarded()) return;
  OperatorProfile profile;
  profile.network = text_in(object, "network");
  profile.precision = text_in(object, "precision");
  profile.batch = count_in(object, "batch");
  profile.threads = count_in(object, "threads");
  if (const auto machine = object.find("machine"); machine != object.end()) {
    profile.peak_gflops = number_in(*machine, "peak_gflops");
    profile.memory_gb_s = number_in(*machine, "memory_gb_s");
  }
  profile.items = items_of<OperatorItem>(run, object["items"], "operators.json",
                                         [](const json& entry, OperatorItem& item) {
                                           item.layer = text_in(entry, "layer");
                                           item.operation = text_in(entry, "operation");
                                           item.kernel = text_in(entry, "kernel");
                                           item.phase = text_in(entry, "phase");
                                           item.calls = count_in(entry, "calls");
                                           item.seconds = number_in(entry, "seconds", -1);
                                           item.flops = std::max(0.0, number_in(entry, "flops"));
                                           item.bytes = std::max(0.0, number_in(entry, "bytes"));
                                           return item.calls > 0 && item.seconds >= 0;
                                         });
  if (!profile.items.empty()) run.operators = std::move(profile);
}

void read_exchange(Run& run) {
  const json object = read_json(run, "exchange.json");
  if (object.is_discarded()) return;
  ExchangeProfile profile;
  profile.workers = count_in(object, "workers");
  profile.exchange = text_in(object, "exchange");
  profile.sync = text_in(object, "sync");
  profile.wire = text_in(object, "wire");
  profile.bytes_sent = number_in(object, "bytes_sent");
  profile.bytes_received = number_in(object, "bytes_received");
  profile.messages = number_in(object, "messages");
  profile.clock_error_s = number_in(object, "clock_error_s");
  profile.measuring_share = number_in(object, "measuring_share");
  if (const auto plan = object.find("plan"); plan != object.end()) {
    profile.planned_step_s = number_in(*plan, "step");
  }
  if (const auto stale = object.find("staleness"); stale != object.end() && stale->is_object()) {
    for (const auto& [key, value] : stale->items()) {
      char* end = nullptr;
      const int64_t updates = std::strtoll(key.c_str(), &end, 10);
      if (end != key.c_str() && *end == '\0' && value.is_number()) {
        profile.staleness[updates] += value.get<int64_t>();
      }
    }
  }
  if (has_list(run, object, "exchange.json", "buckets")) {
    profile.buckets = items_of<BucketTimes>(
        run, object["buckets"], "exchange.json", [](const json& entry, BucketTimes& bucket) {
          bucket.first_layer = text_in(entry, "first_layer");
          bucket.last_layer = text_in(entry, "last_layer");
          bucket.bytes = number_in(entry, "bytes", -1);
          bucket.ready_s = std::max(0.0, number_in(entry, "ready_s"));
          bucket.arrived_s = std::max(0.0, number_in(entry, "arrived_s"));
          bucket.exposed_s = std::max(0.0, number_in(entry, "exposed_s"));
          return bucket.bytes > 0;
        });
  }
  for (const char* key : {"ranks", "servers"}) {
    for (const json& entry : object.value(key, json::array())) {
      for (RunRank& rank : run.ranks) {
        if (rank.host.empty() && rank.rank == number_in(entry, "rank", -1)) {
          rank.host = text_in(entry, "host");
        }
      }
    }
  }
  run.exchange = std::move(profile);
}

void read_progress(Run& run) {
  const json object = read_json(run, "progress.json");
  if (object.is_discarded()) return;
  RunProgress progress;
  progress.step = count_in(object, "step");
  progress.steps = count_in(object, "steps");
  progress.epoch = count_in(object, "epoch");
  progress.epochs = count_in(object, "epochs");
  progress.loss = number_in(object, "loss");
  progress.accuracy = number_in(object, "accuracy");
  progress.images_per_s = number_in(object, "images_per_s");
  progress.time = number_in(object, "time");
  progress.state = text_in(object, "state");
  progress.message = text_in(object, "message");
  run.progress = progress;
}

}  // namespace syrtos::report

#include "syrtos/api/slot_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/train/measure/fastest.h"
#include "syrtos/train/network/probe.h"

namespace syrtos::api {

using nlohmann::json;

namespace {

/// All trials of one way at the same time: they share memory and its bus as trials do.
double samples_per_second(const job::Job& job, int slots, int threads, double& arena_mb) {
  const train::ProbeOptions options{.batch = job.batch,
                                    .image = job.image,
                                    .classes = job.classes,
                                    .precision = job.precision,
                                    .threads = threads,
                                    .seconds = 0.5,
                                    .brief = true};
  std::vector<double> rates(static_cast<size_t>(slots), 0);
  std::vector<double> arenas(static_cast<size_t>(slots), 0);
  std::vector<std::jthread> running;
  for (size_t i = 0; i < rates.size(); ++i) {
    running.emplace_back([&, i] {
      try {
        const train::ProbeResult result = train::probe_compute(job.network, options);
        rates[i] = 1000.0 * static_cast<double>(job.batch) / result.t_step_ms;
        arenas[i] = result.arena_mb;
      } catch (const std::exception&) {  // what cannot be computed in this way is not chosen
        rates[i] = 0;
      }
    });
  }
  running.clear();
  arena_mb = *std::max_element(arenas.begin(), arenas.end());
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return sum;
}

}  // namespace

SlotChoice divide_cores(int slots, int64_t threads, int cores) {
  SlotChoice choice;
  choice.best.slots = slots;
  choice.best.threads = threads > 0 ? static_cast<int>(threads) : std::max(1, cores / slots);
  return choice;
}

SlotChoice measure_slots(const job::Job& job, const Surroundings& surroundings) {
  const int cores = surroundings.cpu.cores;
  // Whoever has workers of its own, or sleeps instead of computing, is not measured.
  if (!job.replay.empty() || job.workers > 1) return divide_cores(1, 0, cores);
  SlotChoice choice;
  double arena_mb = 0;
  for (const int threads : train::thread_counts(cores)) {
    const int slots = cores / threads;
    constexpr double kPart = 0.5;  // of the memory; the rest is weights, batches and everybody else
    const auto memory = static_cast<double>(surroundings.cpu.memory_bytes);
    if (arena_mb * 1e6 * slots > kPart * memory) break;
    if (surroundings.should_stop()) break;
    const double rate = samples_per_second(job, slots, threads, arena_mb);
    choice.measured.push_back({slots, threads, rate});
  }
  if (choice.measured.empty()) return divide_cores(1, 0, cores);
  choice.best = *std::max_element(
      choice.measured.begin(), choice.measured.end(),
      [](const SlotWay& a, const SlotWay& b) { return a.samples_per_s < b.samples_per_s; });
  return choice;
}

std::string to_string(const SlotChoice& choice) {
  const auto way = [](const SlotWay& one) {
    return fmt::format("{} trial{} at once with {} thread{} each", one.slots,
                       one.slots == 1 ? "" : "s", one.threads, one.threads == 1 ? "" : "s");
  };
  std::string text = way(choice.best);
  if (choice.measured.empty()) return text;
  text +=
      fmt::format(": {} samples/s", format_count(static_cast<int64_t>(choice.best.samples_per_s)));
  for (const SlotWay& other : choice.measured) {
    if (other.slots == choice.best.slots) continue;
    text += fmt::format("; {} with {}: {}", other.slots, other.threads,
                        format_count(static_cast<int64_t>(other.samples_per_s)));
  }
  return text;
}

json to_json(const SlotChoice& choice) {
  const auto way = [](const SlotWay& one) {
    return json{
        {"slots", one.slots}, {"threads", one.threads}, {"samples_per_s", one.samples_per_s}};
  };
  json text = way(choice.best);
  for (const SlotWay& one : choice.measured) text["measured"].push_back(way(one));
  return text;
}

SlotChoice parse_slot_choice(const std::string& text) {
  try {
    const json object = json::parse(text);
    SlotChoice choice;
    choice.best = {object.at("slots").get<int>(), object.at("threads").get<int>(),
                   object.at("samples_per_s").get<double>()};
    return choice;
  } catch (const json::exception& error) {
    fail_request("expected how many trials a host runs at once, found: {}", error.what());
  }
}

}  // namespace syrtos::api

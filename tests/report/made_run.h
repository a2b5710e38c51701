#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "syrtos/trace/division_log.h"

namespace syrtos::test {

using trace::Part;
using trace::StepDivision;

/// A run directory made by hand; gone at the end.
class MadeRun {
 public:
  explicit MadeRun(int workers = 4) : workers(workers) {
    std::string name = (std::filesystem::temp_directory_path() / "syrtos-run-XXXXXX").string();
    path = mkdtemp(name.data());
    for (int rank = 0; rank < workers; ++rank) {
      StepDivision step;
      step[Part::load] = 0.001;
      step[Part::forward] = 0.030;
      step[Part::backward] = 0.060;
      step[Part::update] = 0.005;
      if (workers > 1) step[Part::network] = 0.002;
      steps.push_back(step);
      hosts.push_back(std::string(1, static_cast<char>('a' + rank)));
    }
  }
  ~MadeRun() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  MadeRun(const MadeRun&) = delete;
  MadeRun& operator=(const MadeRun&) = delete;

  void write(const std::string& file, const std::string& text) const {
    std::ofstream(path / file, std::ios::binary) << text;
  }

  /// In step, as training does it: whoever is early waits for the last.
  void wait_for_the_slowest() {
    double longest = 0;
    for (const StepDivision& step : steps) longest = std::max(longest, step.sum());
    for (StepDivision& step : steps) step[Part::wait] += longest - step.sum();
  }

  void write_job() const {
    write("run.json", "{\"format\": 1, \"program\": \"syrtos 0.1.0\", \"made\": 1e9}\n");
    write("job.toml",
          fmt::format("network = \"{}\"\nbatch = {}\nepochs = 2\nprecision = "
                      "\"f32\"\n{}[data]\nname = \"cifar10\"\n[distribute]\nworkers = {}\n"
                      "exchange = \"{}\"\nsync = \"{}\"\nwire = \"f32\"\nupdate = \"{}\"\n",
                      network, batch, more, workers, exchange, sync, update));
  }

  void write_metrics() const {
    std::string text;
    for (int epoch = 1; epoch <= 2; ++epoch) {
      nlohmann::json line = {{"epoch", epoch},
                             {"step", 50 * epoch},
                             {"samples", 50 * 32 * workers},
                             {"train_loss", 2.0 / epoch},
                             {"train_accuracy", 0.4 * epoch},
                             {"test_loss", 2.1 / epoch},
                             {"test_accuracy", 0.35 * epoch},
                             {"lr", 0.1},
                             {"images_per_s", 1000.0},
                             {"helped", 0.0},
                             {"seconds", trace::to_json(steps[0])}};
      for (int rank = 0; rank < workers && workers > 1; ++rank) {
        const auto i = static_cast<size_t>(rank);
        line["workers"].push_back(
            {{"rank", rank}, {"host", hosts[i]}, {"seconds", trace::to_json(steps[i])}});
      }
      text += line.dump() + "\n";
    }
    write("metrics.jsonl", text);
  }

  /// Steps that are not like the others: step -> what each rank's is then.
  std::map<int64_t, std::vector<StepDivision>> unusual;

  void write_steps() const {
    std::vector<trace::RankDivision> ranks;
    for (size_t rank = 0; rank < steps.size(); ++rank) {
      trace::DivisionLog log(static_cast<int>(rank));
      for (int64_t step = 0; step < 100; ++step) {
        const auto start =
            static_cast<int64_t>(1e9 * static_cast<double>(step) * steps[rank].sum());
        const auto found = unusual.find(step);
        log.add(step, start, found == unusual.end() ? steps[rank] : found->second[rank]);
      }
      ranks.push_back({log.rank(), {log.records().begin(), log.records().end()}});
    }
    trace::write_divisions(path / "steps.csv", ranks);
  }

  void write_all() const {
    write_job();
    write_metrics();
    write_steps();
  }

  int workers;
  int64_t batch = 32;
  std::string network = "alexnet";
  std::string more;  ///< of the job file
  std::string exchange = "allreduce", sync = "join", update = "auto";
  std::filesystem::path path;
  std::vector<StepDivision> steps;  ///< of each rank; change them before writing
  std::vector<std::string> hosts;
};

/// exchange.json of two buckets, the larger one ready last.
inline std::string made_exchange(int workers, double exposed_s, double messages = 16000,
                                 double bytes_sent = 1.2e11) {
  nlohmann::json text = {
      {"workers", workers},   {"exchange", "allreduce"},  {"sync", "join"},
      {"wire", "f32"},        {"bytes_sent", bytes_sent}, {"bytes_received", bytes_sent},
      {"messages", messages}, {"clock_error_s", 1e-5},    {"measuring_share", 0.0042}};
  text["buckets"] = {{{"first_layer", "fc8"},
                      {"last_layer", "fc7"},
                      {"bytes", 80e6},
                      {"ready_s", 0.05},
                      {"arrived_s", 0.09},
                      {"exposed_s", 0.0}},
                     {{"first_layer", "fc6"},
                      {"last_layer", "fc6"},
                      {"bytes", 151e6},
                      {"ready_s", 0.09},
                      {"arrived_s", 0.09 + exposed_s},
                      {"exposed_s", exposed_s}}};
  return text.dump();
}

/// What rank `rank` of exchange.json says of its CPUs and links.
inline nlohmann::json made_rank(int rank, double in_line, int64_t threads, int64_t cores,
                                const std::string& machine) {
  return {{"rank", rank},
          {"host", std::string(1, static_cast<char>('a' + rank))},
          {"seconds", 100.0},
          {"machine", machine},
          {"process", 1000 + rank},
          {"cores", cores},
          {"threads", threads},
          {"cpu_s", 100 * (1 - in_line)},
          {"ready_s", 100 * in_line},
          {"links", nlohmann::json::array()}};
}
/// A ring in which host `slow` moves bytes at 25 MB/s, the others at 117.
inline nlohmann::json made_ring(int workers, int slow) {
  nlohmann::json ranks = nlohmann::json::array();
  for (int rank = 0; rank < workers; ++rank) {
    const int to = (rank + 1) % workers;
    ranks.push_back(made_rank(rank, 0, 2, 2, fmt::format("m{}", rank)));
    ranks.back()["links"].push_back({{"to", to},
                                     {"bytes", 1e9},
                                     {"seconds", rank == slow || to == slow ? 40.0 : 8.5},
                                     {"retransmitted", 0}});
  }
  return ranks;
}
inline std::string with_ranks(const std::string& exchange, const nlohmann::json& ranks) {
  nlohmann::json text = nlohmann::json::parse(exchange);
  text["ranks"] = ranks;
  return text.dump();
}
/// parts.json of one part of 100 steps, with an account.
inline std::string made_parts(int workers, double training, double data = 1) {
  return nlohmann::json({{"parts",
                          {{{"first_step", 1},
                            {"last_step", 100},
                            {"workers", workers},
                            {"exchange", "allreduce"},
                            {"sync", "join"},
                            {"wire", "f32"},
                            {"update", "auto"},
                            {"begun", 1.0},
                            {"ended", 1 + training},
                            {"time",
                             {{"start", 0.5},
                              {"data", data},
                              {"set_up", 0.25},
                              {"meeting", 0.25},
                              {"training", training},
                              {"end", 0.5}}},
                            {"lost", nlohmann::json::array()}}}}})
      .dump();
}

/// operators.json; a machine of 100 GFLOP/s and 10 GB/s.
inline std::string made_operators(const std::vector<nlohmann::json>& items) {
  return nlohmann::json({{"network", "alexnet"},
                         {"batch", 32},
                         {"precision", "f32"},
                         {"threads", 2},
                         {"machine", {{"peak_gflops", 100.0}, {"memory_gb_s", 10.0}}},
                         {"items", items}})
      .dump();
}
inline nlohmann::json made_operator(const std::string& layer, const std::string& operation,
                                    const std::string& phase, double seconds, double flops) {
  return {{"layer", layer}, {"operation", operation},  {"kernel", "onednn"},  {"phase", phase},
          {"calls", 10},    {"seconds", 10 * seconds}, {"flops", 10 * flops}, {"bytes", 1e6}};
}

}  // namespace syrtos::test

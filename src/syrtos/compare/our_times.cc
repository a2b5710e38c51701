#include "syrtos/compare/our_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "syrtos/base/statistics.h"
#include "syrtos/compare/command.h"
#include "syrtos/compare/peer.h"
#include "syrtos/run/exchange.h"
#include "syrtos/run/hosts.h"
#include "syrtos/run/operators.h"
#include "syrtos/run/steps.h"
#include "syrtos/trace/division.h"

namespace syrtos::compare {

using nlohmann::json;

namespace {

constexpr int64_t kWarmUp = 3;  // as the adapters have it

std::vector<std::string> command_of(const OurRun& run, const std::filesystem::path& hosts) {
  const int64_t steps = run.steps + kWarmUp;
  std::vector<std::string> words = {
      run.program.string(),
      "train",
      "--network",
      run.network,
      "--classes",
      fmt::format("{}", run.classes),
      "--input",
      fmt::format("{}x{}x{}", run.image[0], run.image[1], run.image[2]),
      "--data",
      "random",
      "--samples",
      fmt::format("{}", steps * run.batch * run.workers),
      "--batch",
      fmt::format("{}", run.batch),
      "--epochs",
      "1",
      "--precision",
      "f32",
      "--optimizer",
      "momentum",
      "--lr",
      fmt::format("{}", run.rule.lr),
      "--momentum",
      fmt::format("{}", run.rule.momentum),
      "--weight-decay",
      fmt::format("{}", run.rule.weight_decay),
      "--threads",
      fmt::format("{}", run.threads),
      "--run",
      run.run.string(),
      "--json"};
  if (run.workers > 1) {
    const std::vector<std::string> more = {
        "--workers",  fmt::format("{}", run.workers),
        "--exchange", run.asynchronous ? "ps-colocated" : "allreduce",
        "--sync",     run.asynchronous ? "async" : "join"};
    words.insert(words.end(), more.begin(), more.end());
  }
  if (!run.hosts.empty()) {
    words.insert(words.end(), {"--hosts", hosts.string(), "--remote-shell", run.remote_shell});
  }
  return words;
}

/// A run directory that is gone when this is.
class FinishedRun {
 public:
  explicit FinishedRun(const OurRun& run) : path_(run.run), hosts_(run.run.string() + ".hosts") {
    clear();
    std::ofstream hosts(hosts_);
    for (const launch::Host& host : run.hosts) {
      hosts << host.name << " slots=1 address=" << host.address;
      if (host.ssh_port > 0) hosts << " port=" << host.ssh_port;
      hosts << '\n';
    }
    hosts.close();
    const Done done = run_command(command_of(run, hosts_),
                                  {.seconds = run.patience_s, .should_stop = run.should_stop});
    if (done.ending.good()) return;
    const std::string said = done.end_of_output();
    const bool late = done.timed_out;
    clear();
    throw PeerFailed(fmt::format("syrtos {}\n{}",
                                 late ? "took longer than --patience" : done.ending.text(), said));
  }
  ~FinishedRun() { clear(); }
  FinishedRun(const FinishedRun&) = delete;
  FinishedRun& operator=(const FinishedRun&) = delete;

  run::Directory directory() const { return run::Directory::open(path_); }

 private:
  void clear() const {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
    std::filesystem::remove(hosts_, ignored);
  }

  std::filesystem::path path_;
  std::filesystem::path hosts_;
};

/// Without the first steps, which touch memory and open connections.
std::vector<trace::DivisionRecord> steady(const trace::RankDivision& rank) {
  std::vector<trace::DivisionRecord> result;
  for (const trace::DivisionRecord& record : rank.records) {
    if (record.step > kWarmUp) result.push_back(record);
  }
  if (result.empty()) result.assign(rank.records.begin(), rank.records.end());
  return result;
}

double largest_memory(const run::Directory& directory) {
  run::Notes notes;
  double most = 0;
  for (const auto& [host, samples] : run::read_hosts(directory, notes)) {
    for (const trace::HostSample& sample : samples) {
      if (sample.rss > most) most = sample.rss;  // not-a-number where it is not known
    }
  }
  return most;
}

}  // namespace

json our_cluster_times(const OurRun& run) {
  const FinishedRun finished(run);
  const run::Directory directory = finished.directory();
  run::Notes notes;
  double slowest = 0;
  for (const trace::RankDivision& rank : run::read_steps(directory, notes)) {
    std::vector<double> seconds;
    for (const trace::DivisionRecord& record : steady(rank)) {
      seconds.push_back(record.division().training() / static_cast<double>(record.steps));
    }
    slowest = std::max(slowest, median(seconds));
  }
  json result = {{"step_s", slowest},
                 {"cpu_s", 0.0},
                 {"memory", largest_memory(directory)},
                 {"wire", json::object()}};
  const auto taken = static_cast<double>(run.steps + kWarmUp);
  if (const auto exchange = run::read_exchange(directory, notes)) {
    double cpu = 0;
    for (const run::RankTraffic& rank : exchange->ranks) {
      cpu += rank.cpu_s / taken;
      result["wire"][fmt::format("{} rank {}", rank.host, rank.rank)] =
          static_cast<double>(rank.bytes_sent) / taken;
    }
    result["cpu_s"] = cpu;
  }
  return result;
}

json our_parts(const OurRun& run) {
  const FinishedRun finished(run);
  const run::Directory directory = finished.directory();
  run::Notes notes;
  const auto ranks = run::read_steps(directory, notes);
  if (ranks.empty()) throw PeerFailed("syrtos left no steps.csv");
  json result = {{"memory", largest_memory(directory)}};
  for (const trace::Part part :
       {trace::Part::load, trace::Part::forward, trace::Part::backward, trace::Part::update}) {
    std::vector<double> seconds;
    for (const trace::DivisionRecord& record : steady(ranks[0])) {
      seconds.push_back(record.division()[part] / static_cast<double>(record.steps));
    }
    result[std::string(trace::name_of(part))] = median(seconds);
  }
  return result;
}

json our_operators(const OurRun& run) {
  const FinishedRun finished(run);
  const run::Directory directory = finished.directory();
  run::Notes notes;
  const auto profile = run::read_operators(directory, notes);
  if (!profile) throw PeerFailed("syrtos left no operators.json");
  std::map<std::pair<std::string, std::string>, double> sums;
  for (const run::OperatorItem& item : profile->items) {
    sums[{item.operation, kind_of(item.operation)}] += item.usual_seconds();
  }
  json operators = json::array();
  for (const auto& [name, seconds] : sums) {
    operators.push_back({{"name", name.first}, {"kind", name.second}, {"seconds", seconds}});
  }
  double update = 0;
  const auto ranks = run::read_steps(directory, notes);
  if (!ranks.empty()) {
    std::vector<double> seconds;
    for (const trace::DivisionRecord& record : steady(ranks[0])) {
      seconds.push_back(record.division()[trace::Part::update] / static_cast<double>(record.steps));
    }
    update = median(seconds);
  }
  operators.push_back({{"name", "update"}, {"kind", "update"}, {"seconds", update}});
  return {{"operators", operators}};
}

std::string kind_of(const std::string& operation) {
  const auto has = [&](const char* word) { return operation.find(word) != std::string::npos; };
  const bool backward = has("backward");
  if (has("conv")) {
    if (has("backward_weights")) return "convolution weight gradient";
    return backward ? "convolution data gradient" : "convolution";
  }
  if (has("matmul")) return "dense";
  if (has("cross_entropy") || has("log_softmax")) return "loss";
  if (has("norm")) return backward ? "batch norm gradient" : "batch norm";
  if (has("pool")) return backward ? "pooling gradient" : "pooling";
  for (const char* word : {"relu", "tanh", "sigmoid", "gelu"}) {
    if (has(word)) return backward ? "activation gradient" : "activation";
  }
  for (const char* word : {"reorder", "concat", "reshape", "slice", "pad", "transpose"}) {
    if (has(word)) return "moving data";
  }
  return "other";
}

}  // namespace syrtos::compare

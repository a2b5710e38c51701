#include "syrtos/report/run_files.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <locale>
#include <sstream>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/report/run_json.h"

namespace syrtos::report {

namespace fs = std::filesystem;

namespace {

template <typename Number>
void set_number(Number& value, const toml::node_view<toml::node>& node) {
  if (const auto number = node.value<Number>()) value = *number;
}
void set_text(std::string& value, const toml::node_view<toml::node>& node) {
  if (const auto text = node.value<std::string>()) {
    value = *text;
  } else if (const auto number = node.value<int64_t>()) {
    value = fmt::format("{}", *number);
  }
}

/// optimizer = "adam" is short for [optimizer] name = "adam".
toml::node_view<toml::node> named(toml::table& table, const char* section) {
  return table[section].is_table() ? table[section]["name"] : table[section];
}

std::string without_path(std::string text, const fs::path& file) {
  const std::string path = file.string();
  for (size_t at = text.find(path); at != text.npos; at = text.find(path)) {
    text.replace(at, path.size(), file.filename().string());
  }
  return text;
}

/// Whatever the metrics say about each worker: hosts always, times where there is nothing finer.
void add_worker(Run& run, const json& worker, const RunEpoch& epoch, int64_t steps) {
  const auto number = static_cast<int>(number_in(worker, "rank", -1));
  if (number < 0) return;
  RunRank& rank = rank_of(run, number);
  if (const std::string host = text_in(worker, "host"); !host.empty()) rank.host = host;
  const trace::StepDivision seconds = division_in(worker, "seconds");
  rank.per_epoch = true;
  trace::DivisionRecord record{.step = epoch.step - steps, .steps = std::max<int64_t>(1, steps)};
  for (size_t i = 0; i < trace::kParts; ++i) {
    record.seconds[i] = static_cast<float>(seconds.seconds[i]);
  }
  rank.records.push_back(record);
}

}  // namespace

RunRank& rank_of(Run& run, int number) {
  for (RunRank& rank : run.ranks) {
    if (rank.rank == number) return rank;
  }
  run.ranks.push_back({.rank = number});
  return run.ranks.back();
}

bool has_file(const Run& run, const char* name) {
  std::error_code error;
  return fs::is_regular_file(run.path / name, error);
}

void read_job(Run& run) {
  const fs::path file = run.path / "job.toml";
  if (!has_file(run, "job.toml")) {
    run.notes.push_back("job.toml is missing: what was asked for is not known");
    return;
  }
  toml::table table;
  try {
    std::ifstream stream(file, std::ios::binary);
    table = toml::parse(stream, file.string());
  } catch (const toml::parse_error& error) {
    run.notes.push_back(fmt::format("job.toml, line {}: {}; what was asked for is not known",
                                    error.source().begin.line, error.description()));
    return;
  }
  RunJob& job = run.job;
  set_text(job.network, table["network"]);
  set_text(job.input, table["input"]);
  set_text(job.precision, table["precision"]);
  set_text(job.data, named(table, "data"));
  set_number(job.batch, table["batch"]);
  set_number(job.epochs, table["epochs"]);
  set_number(job.steps, table["steps"]);
  set_number(job.threads, table["threads"]);
  set_number(job.workers, table["distribute"]["workers"]);
  set_text(job.exchange, table["distribute"]["exchange"]);
  set_text(job.sync, table["distribute"]["sync"]);
  set_text(job.wire, table["distribute"]["wire"]);
  set_text(job.update, table["distribute"]["update"]);
  set_number(job.bucket_mb, table["distribute"]["bucket_mb"]);
  std::string replay;
  set_text(replay, table["distribute"]["replay"]);
  job.replayed = !replay.empty();
  job.workers = std::clamp<int64_t>(job.workers, 1, 1'000'000);
  job.batch = std::clamp<int64_t>(job.batch, 0, 1'000'000'000);
}

void read_metrics(Run& run) {
  std::ifstream in(run.path / "metrics.jsonl", std::ios::binary);
  if (!in) {
    run.notes.push_back("metrics.jsonl is missing: losses and accuracies are not known");
    return;
  }
  int64_t number = 0, bad = 0, first_bad = 0;
  bool cut = false;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty()) continue;
    const json entry = json::parse(line, nullptr, false);
    if (!entry.is_object() || !entry.contains("epoch")) {
      if (bad++ == 0) first_bad = number;
      cut = in.eof();
      continue;
    }
    const int64_t before = run.epochs.empty() ? 0 : run.epochs.back().step;
    run.epochs.push_back(epoch_from(entry));
    const RunEpoch& epoch = run.epochs.back();
    const int64_t steps = epoch.step > before ? epoch.step - before : epoch.step;
    const auto workers = entry.find("workers");
    if (workers != entry.end() && workers->is_array() && !workers->empty()) {
      for (const json& worker : *workers) add_worker(run, worker, epoch, steps);
    } else {
      add_worker(run, {{"rank", 0}, {"seconds", entry.value("seconds", json())}}, epoch, steps);
    }
  }
  if (bad > 0) {
    run.notes.push_back(
        cut && bad == 1
            ? fmt::format("metrics.jsonl: line {} is cut off: the run was killed; the {} before it "
                          "{} used",
                          first_bad, number - 1, number == 2 ? "is" : "are")
            : fmt::format("metrics.jsonl: {} line{} cannot be read, the first is line {}; left out",
                          bad, bad == 1 ? "" : "s", first_bad));
  }
  if (run.epochs.empty()) run.notes.push_back("metrics.jsonl: no epoch has ended yet");
}

void read_curve(Run& run) {
  std::ifstream in(run.path / "curve.csv", std::ios::binary);
  for (std::string line; std::getline(in, line);) {
    if (in.eof()) break;  // cut off
    RunPoint point;
    double time = 0;
    std::istringstream fields(line);
    fields.imbue(std::locale::classic());
    char comma = 0;
    fields >> point.step >> comma >> time >> comma >> point.loss >> comma >> point.accuracy >>
        comma >> point.images_per_s;
    if (!fields || point.step <= 0) continue;  // the header
    if (run.points.empty() || point.step > run.points.back().step) run.points.push_back(point);
  }
}

void read_steps(Run& run) {
  const fs::path file = run.path / "steps.csv";
  if (!has_file(run, "steps.csv")) {
    if (!run.ranks.empty() && !has_file(run, "live.json")) {
      run.notes.push_back(
          "steps.csv is missing: times are those of whole epochs, from metrics.jsonl");
    }
    return;
  }
  trace::DivisionContents contents;
  try {
    contents = trace::salvage_divisions(file);
  } catch (const RequestError&) {
    run.notes.push_back("steps.csv is empty: times are those of whole epochs, from metrics.jsonl");
    return;
  }
  if (!contents.problem.empty()) {
    const bool cut = contents.problem.find("found the file's") != std::string::npos;
    const std::string used = contents.ranks.empty() ? "nothing of it is used"
                                                    : fmt::format("the first {} lines are used",
                                                                  format_count(contents.lines));
    run.notes.push_back(
        cut ? fmt::format("steps.csv: line {} is cut off: the run was killed; {}",
                          format_count(contents.lines + 1), used)
        : contents.lines == 0
            ? fmt::format("steps.csv: its columns are not those of this version; {}", used)
            : fmt::format("{}; {}", without_path(contents.problem, file), used));
  }
  if (contents.ranks.empty()) return;
  // Finer than what the metrics said; hosts stay known.
  for (RunRank& rank : run.ranks) {
    rank.records.clear();
    rank.per_epoch = false;
  }
  for (trace::RankDivision& found : contents.ranks) {
    std::vector<trace::DivisionRecord>& records = rank_of(run, found.rank).records;
    records.insert(records.end(), found.records.begin(), found.records.end());
  }
  std::erase_if(run.ranks, [](const RunRank& rank) { return rank.records.empty(); });
  std::sort(run.ranks.begin(), run.ranks.end(),
            [](const RunRank& a, const RunRank& b) { return a.rank < b.rank; });
}

void read_trace_file(Run& run) {
  const fs::path file = run.path / "trace.json.gz";
  if (!has_file(run, "trace.json.gz")) return;
  try {
    run.trace = trace::read_trace(file);
    if (!run.trace->problem.empty()) {
      run.notes.push_back(
          fmt::format("{}; what comes before is used", without_path(run.trace->problem, file)));
    }
  } catch (const Error& error) {
    run.notes.push_back(without_path(error.what(), file));
  }
  if (!run.trace) return;
  for (const trace::RankEvents& events : run.trace->ranks) {
    for (RunRank& rank : run.ranks) {
      if (rank.rank == events.rank && rank.host.empty()) rank.host = events.host;
    }
    if (events.dropped() > 0) {
      run.notes.push_back(fmt::format("trace.json.gz: rank {} had no room for {} events",
                                      events.rank, format_count(events.dropped())));
    }
  }
}

}  // namespace syrtos::report

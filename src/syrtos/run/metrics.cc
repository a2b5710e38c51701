#include "syrtos/run/metrics.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/run/json.h"
#include "syrtos/run/text_file.h"

namespace syrtos::run {

namespace {

/// Nothing that makes sense is no time.
trace::StepDivision seconds_in(const json& object) {
  const auto found = object.find("seconds");
  if (found == object.end()) return {};
  try {
    return trace::division_from_json(*found);
  } catch (const RequestError&) {
    return {};
  }
}

std::vector<WorkerEpoch> workers_in(const json& entry) {
  std::vector<WorkerEpoch> workers;
  const auto list = entry.find("workers");
  if (list == entry.end() || !list->is_array()) return workers;
  for (const json& one : *list) {
    const int rank = rank_in(one, "rank");
    if (rank >= 0) workers.push_back({rank, text_in(one, "host"), seconds_in(one)});
  }
  return workers;
}

void note_bad_lines(int64_t lines, int64_t bad, int64_t first, bool cut, Notes& notes) {
  const std::string name = name_of(File::metrics);
  if (cut && bad == 1) {
    notes.push_back(
        fmt::format("{}: line {} is cut off: the run was killed; the {} before it {} used", name,
                    first, lines - 1, lines == 2 ? "is" : "are"));
  } else {
    notes.push_back(fmt::format("{}: {} line{} cannot be read, the first is line {}; left out",
                                name, bad, bad == 1 ? "" : "s", first));
  }
}

/// "test_accuracy": 0.9, ...
void put_scores(const Scores& scores, const std::string& before, json& text) {
  for (const Score& score : scores) text[before + std::string(score.metric->name)] = score.value;
}

Scores scores_in(const json& entry, const std::string& before) {
  Scores scores;
  for (const Metric& metric : metrics()) {
    const std::string key = before + std::string(metric.name);
    if (metric.name == "loss" || !entry.contains(key)) continue;
    scores.push_back({&metric, number_in(entry, key.c_str())});
  }
  return scores;
}

}  // namespace

double EpochMetrics::test_value(std::string_view name) const {
  return name == "loss" ? test_loss : value_of(test, name);
}

json to_json(const EpochMetrics& m) {
  json text = {{"epoch", m.epoch},      {"step", m.step},
               {"samples", m.samples},  {"train_loss", m.train_loss},
               {"lr", m.learning_rate}, {"images_per_s", m.images_per_s},
               {"queue", m.queue},      {"helped", m.helped},
               {"best", m.best},        {"seconds", trace::to_json(m.seconds)}};
  put_scores(m.train, "train_", text);
  if (m.evaluated) {
    text["test_loss"] = m.test_loss;
    if (m.set != "test") text["set"] = m.set;
    put_scores(m.test, "test_", text);
  }
  for (const WorkerEpoch& worker : m.workers) {
    text["workers"].push_back({{"rank", worker.rank},
                               {"host", worker.host},
                               {"seconds", trace::to_json(worker.seconds)}});
  }
  return text;
}

std::optional<EpochMetrics> epoch_from_json(const json& entry) {
  if (!entry.is_object() || !entry.contains("epoch")) return std::nullopt;
  EpochMetrics metrics;
  metrics.epoch = count_in(entry, "epoch");
  metrics.step = count_in(entry, "step");
  metrics.samples = count_in(entry, "samples");
  metrics.train_loss = number_in(entry, "train_loss");
  metrics.train = scores_in(entry, "train_");
  metrics.evaluated = entry.contains("test_loss");
  metrics.test_loss = number_in(entry, "test_loss");
  if (entry.contains("set")) metrics.set = text_in(entry, "set");
  metrics.test = scores_in(entry, "test_");
  metrics.learning_rate = number_in(entry, "lr");
  metrics.images_per_s = number_in(entry, "images_per_s");
  metrics.seconds = seconds_in(entry);
  metrics.queue = number_in(entry, "queue");
  metrics.helped = number_in(entry, "helped");
  const auto best = entry.find("best");
  metrics.best = best != entry.end() && best->is_boolean() && best->get<bool>();
  metrics.workers = workers_in(entry);
  return metrics;
}

void append(const Directory& directory, const EpochMetrics& metrics) {
  LineFile file(directory.to_write(File::metrics));
  file.append(to_text(to_json(metrics)));
  file.sync();  // the checkpoint that follows does not come without its line
}

std::vector<EpochMetrics> read_metrics(const Directory& directory, Notes& notes) {
  std::vector<EpochMetrics> epochs;
  std::ifstream in(directory.file(File::metrics), std::ios::binary);
  if (!in) {
    notes.push_back(
        fmt::format("{} is missing: losses and scores are not known", name_of(File::metrics)));
    return epochs;
  }
  int64_t lines = 0, bad = 0, first_bad = 0;
  bool cut = false;
  for (std::string line; std::getline(in, line);) {
    ++lines;
    if (line.empty()) continue;
    if (std::optional<EpochMetrics> epoch = epoch_from_json(json::parse(line, nullptr, false))) {
      epochs.push_back(std::move(*epoch));
      continue;
    }
    if (bad++ == 0) first_bad = lines;
    cut = in.eof();
  }
  if (bad > 0) note_bad_lines(lines, bad, first_bad, cut, notes);
  if (epochs.empty()) {
    notes.push_back(fmt::format("{}: no epoch has ended yet", name_of(File::metrics)));
  }
  return epochs;
}

void append_missing(const Directory& directory, const std::vector<EpochMetrics>& epochs,
                    int64_t step) {
  Notes ignored;
  const std::vector<EpochMetrics> there = read_metrics(directory, ignored);
  const int64_t last = there.empty() ? 0 : there.back().epoch;
  for (const EpochMetrics& one : epochs) {
    if (one.epoch > last && one.step <= step) append(directory, one);
  }
}

bool rewind_metrics(const Directory& directory, int64_t step) {
  std::string kept;
  bool best = false;
  const FileText found = read_text(directory.file(File::metrics));
  // What cannot be read now must not be replaced by nothing.
  if (found.error != 0 && found.error != ENOENT) {
    fail_run("cannot read {}: {}", directory.file(File::metrics).string(),
             std::strerror(found.error));
  }
  std::istringstream in(found.text);
  for (std::string line; std::getline(in, line);) {
    const std::optional<EpochMetrics> epoch = epoch_from_json(json::parse(line, nullptr, false));
    if (!epoch || epoch->step > step) continue;
    kept += line + '\n';
    best = epoch->best && epoch->step == step;
  }
  write_text(directory.to_write(File::metrics), kept);
  return best;
}

}  // namespace syrtos::run

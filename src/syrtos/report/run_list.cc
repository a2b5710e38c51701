#include "syrtos/report/run_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "syrtos/report/run.h"
#include "syrtos/report/run_job.h"
#include "syrtos/report/text.h"

namespace syrtos::report {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr size_t kMostRuns = 500;

/// Only its small files are read.
json summary_of(const fs::path& path) {
  const run::Directory directory = run::Directory::at(path);
  Run run;
  run.path = path;
  read_job(run, directory);
  json text = {{"name", run.name()}, {"state", "-"}};
  std::string title =
      clean_text(run.job.network + (run.job.data.empty() ? "" : " on ") + run.job.data);
  if (run.job.workers > 1) {
    title += clean_text(fmt::format(", {} workers, {} {}", run.job.workers,
                                    to_string(run.job.strategy.exchange),
                                    to_string(run.job.strategy.sync)));
  }
  text["title"] = title;
  run.progress = run::read_progress(directory, run.notes);
  if (run.progress) run.progress->state = run::state_now(directory, *run.progress);
  run.epochs = run::read_metrics(directory, run.notes);
  if (run.progress) {
    text["state"] = run::to_string(run.progress->state);
    text["step"] = run.progress->step;
    text["steps"] = run.progress->steps;
  }
  if (run.epochs.empty()) return text;
  text["images_per_s"] = run.epochs.back().images_per_s;
  if (run.job.replayed) return text;
  text["loss"] = run.epochs.back().train_loss;
  for (const EpochMetrics& epoch : run.epochs) {
    if (epoch.evaluated) text["score"] = run::to_text(epoch.test);
  }
  return text;
}

}  // namespace

bool has_run(const fs::path& directory, const std::string& name) {
  std::error_code error;
  const bool is_name = name != "." && name != ".." && name.find('/') == std::string::npos;
  return is_name && fs::exists(directory / name / run::name_of(run::File::job), error);
}

std::vector<std::string> runs_in(const fs::path& directory) {
  std::vector<std::pair<fs::file_time_type, std::string>> found;
  std::error_code error;
  const std::string job = run::name_of(run::File::job);
  if (fs::exists(directory / job, error)) return {};
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    const fs::file_time_type made = fs::last_write_time(entry.path() / job, error);
    if (!error) found.emplace_back(made, entry.path().filename().string());
    error.clear();
  }
  std::sort(found.begin(), found.end(), std::greater<>());
  if (found.size() > kMostRuns) found.resize(kMostRuns);
  std::vector<std::string> names;
  for (auto& [made, name] : found) names.push_back(std::move(name));
  return names;
}

json list_json(const fs::path& directory) {
  Run named;
  named.path = directory;
  json list = json::array();
  for (const std::string& name : runs_in(directory)) list.push_back(summary_of(directory / name));
  return {{"name", named.name()}, {"live", true}, {"running", true}, {"list", list}};
}

}  // namespace syrtos::report

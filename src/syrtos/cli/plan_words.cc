#include "syrtos/cli/plan_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "syrtos/job/job.h"
#include "syrtos/launch/hosts.h"
#include "syrtos/launch/remote.h"

namespace syrtos::cli {

namespace {

/// The name of a file that is still to be written.
constexpr const char* kHostsToWrite = "hosts.txt";

/// The options that make the way of a job: those that it does not have yet, and always the ones
/// that say most.
std::vector<std::string> options_for(const job::JobRequest& job, const planner::Prediction& way) {
  const planner::Candidate& candidate = way.candidate;
  job::JobRequest changed = job;
  if (candidate.workers == 1) {
    changed = api::alone(job);
  } else {
    job::apply(candidate.options, candidate.workers, changed);
    if (candidate.micro_batches > 0) changed.accumulate = candidate.micro_batches;
    const bool usual = candidate.options.update == default_update(candidate.options.exchange);
    if (usual) changed.update = job::JobRequest().update;
  }
  std::vector<std::string> words;
  for (const job::JobField& field : job::job_fields()) {
    const bool says_most = field.key == "distribute.workers" ||
                           field.key == "distribute.exchange" || field.key == "distribute.sync";
    const std::string text = field_text(changed, field);
    if ((says_most && candidate.workers > 1) || text != field_text(job, field)) {
      words.insert(words.end(), {std::string(field.option), text});
    }
  }
  return words;
}

}  // namespace

PlanWords::PlanWords(const TrainOptions& job, const PlanOptions& plan, const api::Planned& planned)
    : job_(job), plan_(plan), planned_(planned) {}

std::vector<std::string> PlanWords::names_of(const planner::Prediction& way) const {
  std::vector<std::string> names;
  for (int i = 0; i < way.hosts; ++i) {
    names.push_back(planned_.cluster.hosts[static_cast<size_t>(i)].name);
  }
  return names;
}

std::string PlanWords::hosts_for(const planner::Prediction& way) const {
  if (plan_.hosts.empty()) {
    const bool here = planned_.cluster.hosts.size() == 1 || way.candidate.workers == 1;
    return here ? "" : kHostsToWrite;
  }
  const std::vector<std::string> names = names_of(way);
  const std::vector<launch::Host> all = launch::read_hosts(plan_.hosts);
  const bool first_ones =
      names.size() <= all.size() &&
      std::equal(names.begin(), names.end(), all.begin(),
                 [](const auto& name, const auto& h) { return name == h.name; });
  if (first_ones && way.candidate.workers > 1) return plan_.hosts;
  // Some of the file's hosts may be chosen already.
  const std::string file = plan_.hosts.substr(
      0, std::filesystem::exists(plan_.hosts) ? std::string::npos : plan_.hosts.rfind(':'));
  return fmt::format("{}:{}", file, fmt::join(names, ","));
}

std::string PlanWords::command_for(const planner::Prediction& way) const {
  std::vector<std::string> words = {"syrtos", "train"};
  if (!job_.job_file.empty()) words.push_back(job_.job_file);
  const std::vector<std::string> options = options_for(read_job(job_), way);
  for (const auto& [field, text] : job_.fields) {
    if (std::find(options.begin(), options.end(), field->option) != options.end()) continue;
    words.insert(words.end(), {std::string(field->option), text});
  }
  if (plan_.replayed && !plan_.compute.empty()) {
    words.insert(words.end(), {"--replay", plan_.compute});
  }
  if (const std::string hosts = hosts_for(way); !hosts.empty()) {
    words.insert(words.end(), {"--hosts", hosts});
  }
  words.insert(words.end(), options.begin(), options.end());
  std::string command;
  for (const std::string& word : words) {
    command += fmt::format("{}{}", command.empty() ? "" : " ", launch::shell_word(word));
  }
  return command;
}

std::string PlanWords::note() const {
  const planner::Prediction& best = planned_.plan.best();
  const planner::Prediction* other = planned_.plan.best_distributed();
  const planner::Prediction& way = best.candidate.workers > 1 || other == nullptr ? best : *other;
  if (!plan_.hosts.empty() || hosts_for(way).empty()) return "";
  if (plan_.cluster.empty() || planner::is_in_words(plan_.cluster)) {
    return fmt::format("{}: your hosts' names, one in each line", kHostsToWrite);
  }
  return fmt::format("{}: one of these names in each line, in this order: {}", kHostsToWrite,
                     fmt::join(names_of(way), ", "));
}

}  // namespace syrtos::cli

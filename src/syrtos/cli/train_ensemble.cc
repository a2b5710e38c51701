// 'syrtos train --ensemble N': the same job with N seeds, and what they come to together.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "syrtos/api/ensemble.h"
#include "syrtos/base/error.h"
#include "syrtos/cli/ensemble_report.h"
#include "syrtos/cli/search_progress.h"
#include "syrtos/cli/train_options.h"
#include "syrtos/search/directory.h"

namespace syrtos::cli {

namespace {

/// What another kind of training takes, and this one would not look at.
void refuse_options_of_others(const TrainOptions& options) {
  struct Other {
    bool given;
    std::string_view option;
    std::string_view why;
  };
  const Other others[] = {
      {options.automatic, "--auto", "it plans one training"},
      {!options.cluster.empty(), "--cluster", "it is for the plan of --auto"},
      {!options.compute.empty(), "--compute", "it is for the plan of --auto"},
      {!options.launcher.empty(), "--launcher",
       "members are started in --slots, here or on --hosts"},
      {options.no_replace, "--no-replace", "members whose process is lost are trained again"},
      {!options.web.empty(), "--web", "it shows one run: syrtos search --show DIR shows all"},
      {options.installed && options.hosts.empty(), "--installed", "it is for --hosts"},
  };
  for (const auto& [given, option, why] : others) {
    if (given) fail_request("{} does not go with an ensemble: {}; leave it out", option, why);
  }
}

/// The members are what they were when the ensemble was begun.
void refuse_changes(const TrainOptions& options) {
  const std::string option = !options.fields.empty() ? std::string(options.fields[0].first->option)
                             : options.ensemble != 0 ? "--ensemble"
                             : !options.combine.empty()  ? "--combine"
                             : !options.job_file.empty() ? options.job_file
                                                         : "";
  if (option.empty()) return;
  fail_request(
      "{} cannot change when an ensemble goes on: its members would not be comparable; only "
      "--slots and --hosts can",
      option);
}

api::Combine combine_of(const TrainOptions& options) {
  return options.combine.empty() ? api::Combine::mean : api::parse_combine(options.combine);
}

}  // namespace

void check_ensemble_options(const TrainOptions& options, const Context& context) {
  refuse_started_ranks("an ensemble", context);
  refuse_options_of_others(options);
  if (options.resume.empty()) return;
  if (!goes_on_as_ensemble(options)) {
    fail_request("--ensemble trains new networks, and {} is one run: leave --resume out",
                 options.resume);
  }
  refuse_changes(options);
}

bool goes_on_as_ensemble(const TrainOptions& options) {
  return !options.resume.empty() && api::is_ensemble(options.resume) &&
         search::Directory::is_search(options.resume);
}

int train_ensemble(const api::TrainRequest& request, const TrainOptions& options,
                   const Context& context) {
  api::SearchRequest asked;
  asked.plan.job = request.job;
  asked.run = std::exchange(asked.plan.job.run, "");
  asked.resume = options.resume;
  asked.force = options.force;
  asked.slots = options.slots;
  const api::SlotPrograms programs{.command = own_command(context, {"slot"}),
                                   .measure = own_command(context, {"slot", "--measure"}),
                                   .program = host_program(context, options.installed),
                                   .hosts = options.hosts,
                                   .remote_shell = options.remote_shell};
  SearchProgress progress(options.json ? stderr : stdout);
  const auto on_search = [&](const search::Directory& directory, const std::string& slots) {
    progress.begin(directory.plan());
    if (options.json) return;
    progress.say(fmt::format("ensemble: {}\nslots: {}", directory.path().string(), slots));
  };
  const api::Searched searched =
      api::train_ensemble(std::move(asked), options.ensemble, combine_of(options), programs,
                          surroundings(context), progress, on_search);
  progress.clear();
  const std::string go_on = fmt::format("syrtos train --resume {}{}", searched.directory.string(),
                                        placing_options(options));
  if (searched.outcome.end == search::Outcome::End::hopeless)
    fail_run("{}", searched.outcome.message);
  if (searched.outcome.end == search::Outcome::End::interrupted) {
    fmt::print(stderr, "interrupted: all members are saved; go on with:\n  {}\n", go_on);
    return kExitFailed;
  }
  const search::Directory directory = search::Directory::open(searched.directory);
  for (const search::Trial& trial : directory.ledger().trials()) {
    if (trial.state == search::TrialState::done) continue;
    fail_run("member {} of {} could not be trained: {}", trial.number, searched.directory.string(),
             trial.message);
  }
  return eval_ensemble({.checkpoint = searched.directory}, options.json, context);
}

}  // namespace syrtos::cli

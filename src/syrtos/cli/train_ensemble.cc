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
      api::train_ensemble(std::move(asked), options.ensemble, api::parse_combine(options.combine),
                          programs, surroundings(context), progress, on_search);
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

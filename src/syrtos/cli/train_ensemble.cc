// 'syrtos train --ensemble N': the same job with N seeds, and what they come to together.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "syrtos/api/ensemble.h"
#include "syrtos/api/together.h"
#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/cli/ensemble_report.h"
#include "syrtos/cli/progress.h"
#include "syrtos/cli/search_progress.h"
#include "syrtos/cli/train_options.h"
#include "syrtos/job/networks.h"
#include "syrtos/nn/network.h"
#include "syrtos/search/directory.h"
#include "syrtos/train/progress/observer_thread.h"

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
                             : !options.together.empty() ? "--together"
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

/// Whether all members go into one program. What was asked for alone is not measured.
bool goes_together(const api::TrainRequest& request, const TrainOptions& options,
                   const Context& context) {
  const std::string& wish = options.together;
  if (!wish.empty() && wish != "auto" && wish != "yes" && wish != "no") {
    fail_request("--together: expected auto, yes or no, found '{}'{}", wish,
                 suggestion(wish, {"auto", "yes", "no"}));
  }
  const bool elsewhere = !options.hosts.empty() || options.slots != 0;
  if (wish == "yes") {
    if (!elsewhere) return true;
    fail_request("--together yes: one program has no slots and one host: leave {} out",
                 options.slots != 0 ? "--slots" : "--hosts");
  }
  const bool may = request.job.workers == 1 && request.job.clip == 0 && request.job.replay.empty();
  if (wish == "no" || elsewhere || !may) return false;
  const api::Surroundings around = surroundings(context);
  job::Job job = job::resolve(request.job, around.cpu, around.cache_home, request.own);
  constexpr int64_t kShort = 2000;  // steps: shorter ones are over before all is measured
  if (job.total_steps() * options.ensemble < kShort) return false;
  const api::TogetherChoice choice = api::measure_together(job, options.ensemble, around);
  if (!options.json) fmt::print("{}\n", to_string(choice, options.ensemble));
  return choice.is_better();
}

/// One training of all members; the run is the ensemble.
int train_together(api::TrainRequest request, const TrainOptions& options, const Context& context) {
  if (options.ensemble < 2) {
    fail_request("--ensemble: expected 2 members or more, found {}", options.ensemble);
  }
  if (request.job.clip > 0) {
    fail_request(
        "--clip: the norm of all members' gradients is not that of each: leave it out, or give "
        "--together no");
  }
  if (job::find_network(request.job.network).file() != nullptr) {
    fail_request(
        "--together yes: {} is a file, and such networks are trained each by itself: leave "
        "it out",
        request.job.network);
  }
  const api::Combine how = combine_of(options);
  nn::NetworkReference network = nn::parse_network_reference(request.job.network);
  network.choices["members"] = std::to_string(options.ensemble);
  const job::JobRequest alone = request.job;
  request.job.network = to_string(network);
  Progress progress({.out = options.json ? stderr : stdout, .colour = context.environment.colour});
  const api::Trained trained = [&] {
    train::ObserverThread told(progress);
    return api::train(request, surroundings(context), told);
  }();
  progress.clear();
  if (trained.outcome.end == train::Outcome::End::interrupted) {
    return report(trained, 0, resume_command(trained.run, ""), options.json);
  }
  api::set_combine(trained.run, how, alone, {}, surroundings(context));
  if (!options.json) fmt::print("ensemble: {}\n", trained.run.string());
  return eval_ensemble({.checkpoint = trained.run}, options.json, context);
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
  if (options.resume.empty() && goes_together(request, options, context)) {
    return train_together(request, options, context);
  }
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
  if (searched.outcome.end == search::Outcome::End::no_room) {
    fail_run("{}\nall members are saved as far as they could be; go on with:\n  {}",
             searched.outcome.message, go_on);
  }
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

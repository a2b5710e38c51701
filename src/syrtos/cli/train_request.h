#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "syrtos/cli/command.h"
#include "syrtos/job/job.h"
#include "syrtos/report/live_page.h"
#include "syrtos/run/directory.h"
#include "syrtos/train/trainer.h"

namespace syrtos::cli {

/// What 'syrtos train' was asked for.
struct TrainRequest {
  std::string job_file;
  std::string resume;
  std::vector<std::pair<const job::JobField*, std::string>> fields;
  bool json = false;

  std::string hosts;     ///< file
  std::string launcher;  ///< empty: as the surroundings suggest
  std::string remote_shell = "ssh";
  std::string join;  ///< in a rank's process: its invitation

  std::string web;  ///< port of the live page, 0: any; empty: no page

  bool automatic = false;  ///< plan first
  std::string cluster;     ///< for the plan, as in PlanRequest
  std::string compute;
  double planned_step = 0;  ///< seconds that the plan says; 0: there was none

  bool sets(std::string_view key) const;
};

/// Plans and puts what came out best into the request and the arguments of ranks.
void plan_training(TrainRequest& request, Context& context);

/// How a plan came out. Seconds of a step.
struct PlanTruth {
  double planned_s = 0;
  double measured_s = 0;
};
PlanTruth plan_truth(const train::Outcome& outcome, double planned_step);
std::string to_text(const PlanTruth& truth);

/// The job that the request describes.
job::JobRequest read_job(const TrainRequest& request);

/// What the run is compared with afterwards: the plan, and what worker 0's machine can do at best,
/// which is measured once and remembered.
train::TrainerOptions trainer_options(const job::Job& job, const TrainRequest& request,
                                      const Context& context);

/// Begins or goes on: worker 0's directory.
void open_run(train::Trainer& trainer, const TrainRequest& request);

/// --web: the page of this run as long as the result lives, and where it is, on stderr; otherwise
/// nothing. Throws RequestError.
std::unique_ptr<report::LivePage> show_page(const TrainRequest& request,
                                            const std::filesystem::path& run);
/// Refuses (RequestError) what show_page() could not do, before anything is started.
void check_page(const TrainRequest& request);

/// How to go on with a run in the way it was started.
std::string resume_command(const std::filesystem::path& run, const TrainRequest& request);

/// Prints how it ended; returns the exit code.
int report(const train::Outcome& outcome, const run::Directory& directory,
           const TrainRequest& request);

/// Starts the ranks of a distributed run and stays until all have ended.
int launch_training(const TrainRequest& request, job::JobRequest job, const Context& context);
/// The process of a rank that launch_training() started.
int train_as_rank(const TrainRequest& request, job::JobRequest job, const Context& context);
/// The process of a rank that mpirun or srun started.
int train_under_mpi(const TrainRequest& request, job::JobRequest job, const Context& context);

/// All workers in this process (--exchange shared).
int train_in_threads(const TrainRequest& request, const job::Job& job, const Context& context);
[[noreturn]] void fail_not_one_process(std::string_view found);

/// Its ranks are several.
bool is_distributed(const job::JobRequest& job);

}  // namespace syrtos::cli

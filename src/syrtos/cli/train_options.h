#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/api/resume.h"
#include "syrtos/api/train.h"
#include "syrtos/cli/command.h"

namespace syrtos::cli {

/// What 'syrtos train' was asked for, as it was written.
struct TrainOptions {
  std::string job_file;
  std::string resume;
  bool force = false;  ///< take over a run that another process has
  std::vector<api::Change> fields;
  bool json = false;

  std::string hosts;       ///< names or a file
  bool installed = false;  ///< bring no package along
  std::string launcher;    ///< empty: as the surroundings suggest
  std::string remote_shell = "ssh";
  bool no_replace = false;

  int64_t ensemble = 0;  ///< members; 0: one network
  std::string combine;   ///< empty: mean
  std::string together;  ///< members in one program: auto (empty), yes or no
  int slots = 0;         ///< of an ensemble: members at once; 0: what is fastest

  std::string web;  ///< port of the live page, 0: any; empty: no page

  bool automatic = false;  ///< plan first
  std::string cluster;     ///< for the plan, as in PlanOptions
  std::string compute;
  double planned_step = 0;  ///< seconds that a plan has said; 0: there was none

  bool sets(std::string_view key) const;
};

/// The job file, or the run to go on with, and the options that override it. Throws RequestError.
job::JobRequest read_job(const TrainOptions& options);

/// With --split auto a plan finds the parts of the network.
bool plans_parts(const job::JobRequest& job, const TrainOptions& options);

/// The plan that --auto makes, or --split auto: prints it and returns the request in its way. The
/// hosts of the options become those that were planned for.
api::TrainRequest plan_first(api::TrainRequest request, TrainOptions& options,
                             const Context& context);

/// Where the ranks were, as options: a run knows how many workers it had, but not where.
std::string placing_options(const TrainOptions& options);
/// How to go on with a run in the way it was started.
std::string resume_command(const std::filesystem::path& run, const std::string& placing_options);

/// The run to go on with is an ensemble.
bool goes_on_as_ensemble(const TrainOptions& options);
/// Throws RequestError for options that an ensemble does not take, and under mpirun and the like.
void check_ensemble_options(const TrainOptions& options, const Context& context);
/// Trains an ensemble and prints what it comes to; returns the exit code.
int train_ensemble(const api::TrainRequest& request, const TrainOptions& options,
                   const Context& context);

/// Prints how a training ended; returns the exit code.
int report(const api::Trained& trained, double planned_step_s, const std::string& resume_command,
           bool json);

}  // namespace syrtos::cli

// 'syrtos submit': a training as a job of a cluster's scheduler.

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/cli/command.h"
#include "syrtos/cli/submit_script.h"
#include "syrtos/job/file.h"

namespace syrtos::cli {

namespace fs = std::filesystem;

namespace {

/// Becomes sbatch or qsub.
[[noreturn]] void become(const std::string& program, const std::string& script) {
  execlp(program.c_str(), program.c_str(), script.c_str(), nullptr);
  fail_request("{} cannot be started: {}; is this a host from which jobs are submitted?", program,
               std::strerror(errno));
}

int run_submit(SubmitRequest request, const Context& context) {
  job::JobRequest job;
  job::read_job_file(job, request.job_file);  // what is wrong is said now, not hours later
  if (request.run.empty()) request.run = job.run;
  if (request.run.empty()) request.run = "runs/" + fs::path(request.job_file).stem().string();
  while (request.run.size() > 1 && request.run.ends_with('/')) request.run.pop_back();
  const std::string script = submit_script(request, own_command(context, {}).front());
  if (request.dry_run) {
    fmt::print("{}", script);
    return kExitDone;
  }
  const fs::path file = fs::path(request.run).filename().string() + ".sh";
  const FileText before = read_text(file);
  if (before.error != ENOENT && before.text.find(kSubmitMark) == std::string::npos) {
    fail_request("{} is there already and not of this command: move it away, or use --run",
                 file.string());
  }
  AtomicFile out(file);
  out.write(script);
  out.commit();
  become(request.launcher == "slurm" ? "sbatch" : "qsub", file.string());
}

}  // namespace

void add_submit(Command app, Run& run) {
  auto request = std::make_shared<SubmitRequest>();
  Command command = app.add_subcommand("submit", "Train as a job of a cluster's scheduler");
  command.add_option("JOB", request->job_file, "job file (TOML)").required().type_name("");
  command.add_option("--launcher", request->launcher, "slurm or sge (Grid Engine)").required();
  command.add_option("--nodes", request->nodes, "hosts, with one rank each")
      .positive()
      .show_default();
  command.add_option("--time", request->time, "limit of the job: 2:00:00").required();
  command
      .add_option("--save-before", request->save_before,
                  "seconds before the limit at which the training saves and goes back to the queue")
      .positive()
      .show_default();
  command.add_option("--run", request->run,
                     "the run's directory (default: the job's, else runs/JOB)");
  command.add_option("--pe", request->environment, "Grid Engine's parallel environment")
      .show_default();
  command
      .add_option("--option", request->options,
                  "a further option of the scheduler, such as --option=--partition=long")
      .take_all();
  command.add_flag("--dry-run", request->dry_run, "print the script, submit nothing");
  command.footer(
      "The script is kept as RUN.sh, its output as RUN.log. A job that is started again goes on\n"
      "where it was.\n\n"
      "Examples:\n"
      "  syrtos submit job.toml --launcher slurm --nodes 4 --time 2:00:00\n"
      "  syrtos submit job.toml --launcher sge --nodes 4 --time 2:00:00 --pe mpi --dry-run");
  command.callback([request, &run] {
    run = [request](const Context& context) { return run_submit(*request, context); };
  });
}

}  // namespace syrtos::cli

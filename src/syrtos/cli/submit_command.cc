// 'syrtos submit': a training as a job of a cluster's scheduler.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "syrtos/base/descriptor.h"
#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/cli/command.h"
#include "syrtos/cli/submit_script.h"
#include "syrtos/job/file.h"
#include "syrtos/report/run_reader.h"

namespace syrtos::cli {

namespace fs = std::filesystem;

namespace {

/// Runs sbatch or qsub and returns its exit code. A child that cannot become it says so by the
/// pipe, which is closed where it could.
int submit(const std::string& program, const std::string& script) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_run("no pipe: {}", std::strerror(errno));
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    execlp(program.c_str(), program.c_str(), script.c_str(), nullptr);
    const int reason = errno;
    [[maybe_unused]] const ssize_t ignored = write(writing.get(), &reason, sizeof reason);
    _exit(127);
  }
  writing.close();
  int reason = 0;
  const bool failed = child < 0 || read(reading.get(), &reason, sizeof reason) == sizeof reason;
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (failed) {
    fs::remove(script);
    fail_request("{} cannot be started: {}; is this a host from which jobs are submitted?", program,
                 std::strerror(child < 0 ? errno : reason));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kExitFailed;
}

/// The script goes on with a run that is there: one that is complete would be refused only when the
/// job has waited for its turn.
void look_at_run(const std::string& directory) {
  std::error_code ignored;
  if (!fs::exists(fs::path(directory) / "job.toml", ignored)) return;
  if (report::read_run(directory, {.trace = false}).complete()) {
    fail_request("{} is complete: expected a new run, or one to go on with; choose another --run",
                 directory);
  }
  fmt::print(stderr, "note: {} is there: the job goes on with that run\n", directory);
}

int run_submit(SubmitRequest request, const Context& context) {
  job::JobRequest job;
  job::read_job_file(job, request.job_file);  // what is wrong is said now, not hours later
  if (request.run.empty()) request.run = job.run;
  if (request.run.empty()) request.run = "runs/" + fs::path(request.job_file).stem().string();
  while (request.run.size() > 1 && request.run.ends_with('/')) request.run.pop_back();
  look_at_run(request.run);
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
  const int code = submit(request.launcher == "slurm" ? "sbatch" : "qsub", file.string());
  std::error_code ignored;
  if (code != kExitDone) fs::remove(file, ignored);  // nobody waits for it
  return code;
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

#include "syrtos/cli/submit_script.h"

#include <fmt/format.h>

#include <filesystem>

#include "syrtos/base/error.h"
#include "syrtos/launch/remote.h"

namespace syrtos::cli {

namespace {

/// What both have in common. `$again`: what puts the job back into the queue.
constexpr const char* kBody = R"(
# What was trained before the time was over, or before the job was put back, is gone on with.
run={run}
if [ -e "$run/job.toml" ]; then
  set -- --resume "$run"
  # The scheduler starts a job again only when it has ended, also where its host has died.
  if {again_started}; then set -- "$@" --force; fi
else
  set -- {job} --run "$run"
fi

# Shortly before the time is over this gets a signal: the training saves its position and ends.
asked=0
trap 'asked=1; kill -TERM "$program" 2>/dev/null' {signals}
{syrtos} train "$@" &
program=$!
wait "$program"
code=$?
while kill -0 "$program" 2>/dev/null; do
  wait "$program"
  code=$?
done
if [ "$asked" = 1 ] && [ "$code" -ne 0 ]; then
  echo "the time is nearly over: the job goes back to the queue, and goes on with $run"
  {again}
fi
exit "$code"
)";

std::string body(const SubmitRequest& request, const std::string& program,
                 const std::string& signals, const std::string& again_started,
                 const std::string& again) {
  return fmt::format(fmt::runtime(kBody), fmt::arg("run", launch::shell_word(request.run)),
                     fmt::arg("job", launch::shell_word(request.job_file)),
                     fmt::arg("signals", signals), fmt::arg("syrtos", launch::shell_word(program)),
                     fmt::arg("again_started", again_started), fmt::arg("again", again));
}

std::string clock_text(int seconds) {
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

}  // namespace

int seconds_of_time(const std::string& text) {
  int days = 0;
  int hours = 0;
  int minutes = 0;
  int seconds = 0;
  const bool has_days = text.find('-') != std::string::npos;
  char rest = 0;
  const bool good =
      has_days
          ? std::sscanf(text.c_str(), "%d-%d:%d:%d%c", &days, &hours, &minutes, &seconds, &rest) ==
                4
          : std::sscanf(text.c_str(), "%d:%d:%d%c", &hours, &minutes, &seconds, &rest) == 3 ||
                (hours = 0, std::sscanf(text.c_str(), "%d:%d%c", &minutes, &seconds, &rest)) == 2;
  const auto below = [&](int value, int most, bool first) {
    return value >= 0 && (first || value < most);
  };
  const bool within = below(hours, 24, !has_days) && below(minutes, 60, hours == 0 && !has_days) &&
                      below(seconds, 60, false) && days >= 0;
  const int total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
  if (!good || !within || total <= 0) {
    fail_request(
        "--time: expected hours, minutes and seconds such as 2:00:00, the last two below 60, found "
        "'{}'",
        text);
  }
  return total;
}

std::string submit_script(const SubmitRequest& request, const std::string& program) {
  const int seconds = seconds_of_time(request.time);
  if (request.save_before >= seconds) {
    fail_request("--save-before {}: expected less than the time of the job, {} s",
                 request.save_before, seconds);
  }
  const std::string name = std::filesystem::path(request.run).filename().string();
  std::string script = "#!/bin/bash\n";
  script += kSubmitMark;
  if (request.launcher == "slurm") {
    script += fmt::format(
        "#SBATCH --job-name={}\n#SBATCH --nodes={}\n#SBATCH --ntasks-per-node=1\n"
        "#SBATCH --time={}\n#SBATCH --signal=B:USR1@{}\n#SBATCH --requeue\n"
        "#SBATCH --open-mode=append\n#SBATCH --output={}.log\n",
        name, request.nodes, request.time, request.save_before, name);
    for (const std::string& option : request.options) script += "#SBATCH " + option + "\n";
    return script + body(request, program, "USR1", "[ \"${SLURM_RESTART_COUNT:-0}\" -gt 0 ]",
                         "scontrol requeue \"$SLURM_JOB_ID\"");
  }
  if (request.launcher == "sge") {
    script += fmt::format(
        "#$ -N {}\n#$ -S /bin/bash\n#$ -cwd\n#$ -pe {} {}\n#$ -l s_rt={},h_rt={}\n#$ -r y\n"
        "#$ -notify\n#$ -j y\n#$ -o {}.log\n",
        name, request.environment, request.nodes, clock_text(seconds - request.save_before),
        clock_text(seconds), name);
    for (const std::string& option : request.options) script += "#$ " + option + "\n";
    // Exit code 99 asks Grid Engine to start the job again.
    return script + body(request, program, "USR1 USR2", "[ \"${RESTARTED:-0}\" -gt 0 ]", "exit 99");
  }
  fail_request("--launcher: expected slurm or sge, found '{}'", request.launcher);
}

}  // namespace syrtos::cli

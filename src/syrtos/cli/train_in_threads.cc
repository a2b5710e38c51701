#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/cli/progress.h"
#include "syrtos/cli/train_request.h"
#include "syrtos/train/thread_team.h"

namespace syrtos::cli {

void fail_not_one_process(std::string_view found) {
  fail_request(
      "--exchange shared: the workers are threads of one process, found {}: leave it out, or use "
      "--exchange ps",
      found);
}

int train_in_threads(const TrainRequest& request, const job::Job& job, const Context& context) {
  if (!request.hosts.empty()) fail_not_one_process("--hosts");
  if (!request.launcher.empty()) fail_not_one_process("--launcher");
  const ThreadScope threads(job.threads);
  train::ThreadTeam team(job, trainer_options(job, request, context));
  open_run(team.first(), request);
  const auto page = show_page(request, team.first().directory().path());
  Progress progress(request.json ? stderr : stdout, context.environment.colour);
  const train::Outcome outcome = team.run(progress, context.interrupted);
  progress.clear();
  return report(outcome, team.first().directory(), request);
}

}  // namespace syrtos::cli

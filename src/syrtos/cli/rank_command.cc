// 'syrtos rank': the process of one rank, started by a launcher and not by people.

#include <unistd.h>

#include <memory>

#include "syrtos/api/rank.h"
#include "syrtos/api/task.h"
#include "syrtos/base/log.h"
#include "syrtos/cli/interrupt.h"
#include "syrtos/cli/progress.h"
#include "syrtos/cli/train_options.h"

namespace syrtos::cli {

namespace {

struct RankOptions {
  std::string join;
  std::string run;      ///< only for process lists
  std::string placing;  ///< as placing_options() says it
  bool json = false;
};

int run_rank(const RankOptions& options, const Context& context) {
  outlive_readers();
  api::JoinedRank self(options.join, [] { _exit(launch::kCutOff); });
  const launch::Invitation& invitation = self.invitation();
  int code = kExitDone;
  api::RankHooks hooks;
  hooks.observer = [&] {
    return std::make_unique<Progress>(ProgressPlace{
        .out = options.json ? stderr : stdout,
        .colour = context.environment.colour,
        .columns = options.json ? invitation.error_columns : invitation.output_columns});
  };
  hooks.finished = [&](const api::Trained& trained) {
    code = report(trained, api::parse_task(self.task()).planned_step_s,
                  resume_command(trained.run, options.placing), options.json);
    std::fflush(stdout);
  };
  try {
    return api::train_as_rank(self, surroundings(context), hooks) ? code : kExitFailed;
  } catch (const launch::LauncherGone& error) {
    log_info("{}", error.what());
    return launch::kCutOff;
  }
}

}  // namespace

void end_process() { _exit(kExitFailed); }

void add_rank(Command app, Run& run) {
  auto options = std::make_shared<RankOptions>();
  Command command = app.add_subcommand("rank", "");
  command.hidden();
  command.add_option(launch::kJoinOption, options->join).required();
  command.add_option("--run", options->run);
  command.add_option("--placing", options->placing);
  command.add_flag("--json", options->json);
  command.callback([options, &run] {
    run = [options](const Context& context) { return run_rank(*options, context); };
  });
}

}  // namespace syrtos::cli

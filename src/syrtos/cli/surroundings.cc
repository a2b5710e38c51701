#include <fmt/format.h>

#include "syrtos/base/error.h"
#include "syrtos/base/program_file.h"
#include "syrtos/cli/command.h"
#include "syrtos/launch/allocation.h"

namespace syrtos::cli {

api::Surroundings surroundings(const Context& context) {
  return {.cpu = context.cpu,
          .cache_home = context.environment.cache_home,
          .mpi = context.environment.mpi,
          .mpi_ranks = context.environment.mpi_ranks,
          .should_stop = context.interrupted};
}

std::vector<std::string> own_command(const Context& context,
                                     const std::vector<std::string>& arguments) {
  const std::filesystem::path& package = context.environment.package;
  std::vector<std::string> command = {(package.empty() ? program_file() : package).string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  if (context.verbose > 0) command.push_back("--verbose=" + std::to_string(context.verbose));
  return command;
}

launch::HostProgram host_program(const Context& context, bool installed) {
  launch::HostProgram program;
  program.identity = own_command(context, {"doctor", "--identity"});
  if (!installed) program.package = context.environment.package;
  program.note = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  return program;
}

void refuse_started_ranks(std::string_view what, const Context& context) {
  const std::string& ranks = context.environment.mpi_ranks;
  const auto started = launch::find_started_rank(context.environment.scheduler);
  if (!started && (context.environment.mpi.empty() || ranks == "1")) return;
  const std::string by = started ? started->by : "mpirun";
  fail_request(
      "{} is one program that starts others itself, found one of {} ranks of {}: leave {} out, and "
      "name the hosts with --hosts",
      what,
      started         ? std::to_string(started->ranks)
      : ranks.empty() ? "several"
                      : ranks,
      by, by);
}

}  // namespace syrtos::cli

#include <filesystem>

#include "syrtos/cli/command.h"

namespace syrtos::cli {

api::Surroundings surroundings(const Context& context) {
  return {.cpu = context.cpu,
          .cache_home = context.environment.cache_home,
          .should_stop = context.interrupted};
}

std::vector<std::string> own_command(const Context& context,
                                     const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {std::filesystem::read_symlink("/proc/self/exe").string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  if (context.verbose > 0) command.push_back("--verbose=" + std::to_string(context.verbose));
  return command;
}

}  // namespace syrtos::cli

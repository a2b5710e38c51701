#include "syrtos/cli/ranks.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "syrtos/base/log.h"
#include "syrtos/launch/token.h"

namespace syrtos::cli {

namespace fs = std::filesystem;

std::vector<std::string> own_command(const Context& context) {
  std::vector<std::string> command = {fs::read_symlink("/proc/self/exe").string()};
  command.insert(command.end(), context.arguments.begin(), context.arguments.end());
  return command;
}

void reach_hosts(launch::LaunchOptions& options, const std::string& remote_shell,
                 const Context& context) {
  options.remote = launch::RemoteShell{remote_shell, fs::current_path()};
  const std::vector<std::string> ask = {own_command(context)[0], "doctor", "--identity"};
  launch::check_hosts(options.hosts, *options.remote, ask, context.interrupted);
}

RankProcess::RankProcess(const std::string& word)
    : invitation_(launch::parse_invitation(word)),
      token_(launch::read_token(STDIN_FILENO, std::chrono::seconds(10))) {
  name_log(invitation_.rank, invitation_.host);
}

int RankProcess::run(const Work& work) {
  world::Listener listener(invitation_.address);
  launch::JoinOptions join;
  join.invitation = invitation_;
  join.token = token_;
  join.port = listener.port();
  join.input = STDIN_FILENO;
  const std::unique_ptr<launch::Membership> membership = launch::join(join);
  const launch::Assignment& assignment = membership->assignment();
  membership->report("connecting to the other ranks");
  world::TcpOptions options;
  options.rank = assignment.rank;
  options.token = assignment.token;
  for (const launch::Member& member : assignment.members) {
    options.members.push_back({member.host, member.address, member.port});
  }
  int code = kExitFailed;
  try {
    world::TcpWorld world(std::move(options), std::move(listener));
    code = work(world, *membership);
  } catch (const world::PeerLost& error) {
    membership->blame(error.rank());
    return kExitFailed;
  }
  std::fflush(stdout);
  membership->leave();
  return code;
}

}  // namespace syrtos::cli

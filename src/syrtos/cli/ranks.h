#pragma once

#include <functional>
#include <string>
#include <vector>

#include "syrtos/cli/command.h"
#include "syrtos/launch/launch.h"
#include "syrtos/launch/membership.h"
#include "syrtos/world/tcp/tcp.h"

// What commands share that start this program again as ranks on several hosts.

namespace syrtos::cli {

/// This program by its path, with its arguments: what ranks are started with.
std::vector<std::string> own_command(const Context& context);

/// Sets how the options' hosts are reached and asks each for its program and cores. Throws
/// RequestError that names those that do not answer or have another program.
void reach_hosts(launch::LaunchOptions& options, const std::string& remote_shell,
                 const Context& context);

/// This process as a rank that a launcher started.
class RankProcess {
 public:
  /// `word` came after --join. Reads the token from the standard input.
  explicit RankProcess(const std::string& word);

  const launch::Invitation& invitation() const { return invitation_; }

  /// Meets the others, works and leaves; the exit code is that of `work`. When another rank was
  /// lost nothing is printed, since the launcher says who, once for all.
  using Work = std::function<int(world::TcpWorld&, launch::Membership&)>;
  int run(const Work& work);

 private:
  launch::Invitation invitation_;
  std::string token_;
};

}  // namespace syrtos::cli

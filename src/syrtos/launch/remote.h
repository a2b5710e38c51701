#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "syrtos/launch/hosts.h"
#include "syrtos/launch/process.h"

namespace syrtos::launch {

/// How commands reach other hosts.
struct RemoteShell {
  /// Words of a program that is called with the host and one command line for its shell, as ssh is.
  /// ssh itself is also told never to ask for a password.
  std::string command = "ssh";
  std::filesystem::path directory;  ///< where the commands run; empty: where the shell begins
};

/// What to start here so that the command runs there. It must be a path that is right there.
std::vector<std::string> remote_command(const RemoteShell& shell, const Host& host,
                                        const std::vector<std::string>& command);

/// How the remote command ended, as told by the end of the remote shell.
Ending remote_ending(const Ending& ending);
/// The exit code of a remote shell that did not reach its host, or lost it.
constexpr int kRemoteShellFailed = 255;
/// Why a command could not be run there, with what was printed on its error output, and what to do.
std::string explain_remote(const RemoteShell& shell, const Host& host, const std::string& program,
                           const Ending& ending, const std::string& said);

/// A line that says which program this is (version, checksum of the executable) and how many cores
/// it may use: what `identity_command` prints on a host.
std::string identity_line(int cores);

/// Asks every host at the same time for its identity line, by running the command there, and sets
/// its cores. Throws RequestError that names every host that cannot be reached, refuses, or has no
/// or another program, and what to do. Copies nothing. Blocks for at most some 20 s.
void check_hosts(std::vector<Host>& hosts, const RemoteShell& shell,
                 const std::vector<std::string>& identity_command,
                 const std::function<bool()>& should_stop);

}  // namespace syrtos::launch

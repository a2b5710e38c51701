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
  std::filesystem::path directory = {};  ///< where the commands run; empty: where the shell begins
  bool make_directory = false;           ///< where it is not there
  bool takes_words = false;              ///< as srun, which reads no command line
};

/// A word as a shell reads it: in quotes where it has to be.
std::string shell_word(const std::string& word);

/// What to start here so that the shell command runs there.
std::vector<std::string> remote_script(const RemoteShell& shell, const Host& host,
                                       const std::string& script);

/// The same for a program and its arguments. It must be a path that is right there; Host::program
/// takes its place.
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

/// Version and checksum of this program, for people.
std::string program_identity();

/// How hosts get the program.
struct HostProgram {
  std::vector<std::string> identity;   ///< a command that prints the identity line
  std::string name = {};               ///< for people; empty: the command's first word
  std::filesystem::path package = {};  ///< copied to hosts that lack it; empty: they must have it
  std::function<void(const std::string&)> note = {};  ///< hears what was copied
};

/// bring_package(), if there is one, and check_hosts(). Blocks, for as long as copying takes.
void prepare_hosts(std::vector<Host>& hosts, const RemoteShell& shell, const HostProgram& program,
                   const std::function<bool()>& should_stop);

/// Asks every host at the same time for its identity line, by running the command there, and sets
/// its cores. Throws RequestError that names every host that cannot be reached, refuses, or has no
/// or another program, and what to do. Copies nothing. Blocks for at most some 20 s.
/// `name`: of the program, as in HostProgram.
void check_hosts(std::vector<Host>& hosts, const RemoteShell& shell,
                 const std::vector<std::string>& identity_command,
                 const std::function<bool()>& should_stop, const std::string& name = {});

}  // namespace syrtos::launch

#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace syrtos::launch {

/// A machine that ranks can run on.
struct Host {
  std::string name;          ///< what ssh is told, and people
  int slots = 1;             ///< ranks that may run there
  std::string address = {};  ///< numeric: where its ranks listen
  int ssh_port = 0;          ///< 0: as ssh thinks best
  int cores = 0;             ///< 0: not known (see check_hosts)
  /// The path there of the program that was brought along (see bring_package); empty: as here.
  std::string program = {};
};

/// Names of hosts, "a,b:2,c", with their slots where that is more than one; or a hosts file: one
/// host per line, "NAME [slots=N] [address=A] [port=P]" (port: of its sshd),
/// '#' begins a comment. "FILE:c,a" takes some of them alone, in this order. Addresses that are not
/// given are looked up, which may block for some seconds. Throws RequestError with file and line.
std::vector<Host> read_hosts(const std::filesystem::path& file);

int total_slots(const std::vector<Host>& hosts);

/// "a: 2, b: 4".
std::string list_slots(const std::vector<Host>& hosts);

}  // namespace syrtos::launch

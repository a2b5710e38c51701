#pragma once

#include <string>

#include "syrtos/cli/command.h"

namespace syrtos::cli {

struct DoctorHostsRequest {
  std::string hosts;  ///< names or a file
  std::string remote_shell = "ssh";
  bool installed = false;  ///< bring no package along
  bool json = false;
};

/// Looks at every host and at what is between them; prints a table, what is wrong and what to do.
/// Returns the exit code: 1 when something is wrong.
int examine_hosts(const DoctorHostsRequest& request, const Context& context);

/// The part of a host in that, at this address.
int be_examined(const std::string& address, const Context& context);

}  // namespace syrtos::cli

#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "syrtos/launch/remote.h"

namespace syrtos::launch {

/// Sees that every host has the package (one file that runs by itself): asks all of them at the
/// same time, copies it to those that have it neither at the same path nor in the user's cache,
/// several at a time, compares what arrived, and sets Host::program. A host keeps three packages.
/// Gives what stands against it on each host: it cannot be reached, has another architecture or no
/// room; then, with `all_or_none`, nothing is copied to the others either. `note` hears what was
/// copied. Blocks, for as long as copying takes. Throws RunError when it is interrupted.
std::vector<std::string> bring_package(std::vector<Host>& hosts, const RemoteShell& shell,
                                       const std::filesystem::path& package,
                                       const std::function<bool()>& should_stop,
                                       const std::function<void(const std::string&)>& note,
                                       bool all_or_none);

}  // namespace syrtos::launch

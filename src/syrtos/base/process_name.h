#pragma once

#include <cstdint>
#include <string>

namespace syrtos {

/// A process, so that another one can find out, also after a restart of either machine, whether it
/// still runs.
struct ProcessName {
  std::string host;
  std::string machine;        ///< The same as long as the machine is not set up anew.
  std::string boot;           ///< Of the machine; another one after it was started again.
  std::string pid_namespace;  ///< In which the number means something.
  int64_t process = 0;
  int64_t started = 0;  ///< Ticks since the boot, so that a number that is used again is seen.

  bool operator==(const ProcessName&) const = default;
};

ProcessName this_process();

enum class Liveness { alive, gone, unknown };
/// `unknown`: it is, or was, where this process cannot look.
Liveness liveness_of(const ProcessName& name);

}  // namespace syrtos

#pragma once

#include <filesystem>
#include <string>

namespace syrtos::trace {

/// What the threads of a process have got of the CPUs, and what they would have taken. Threads that
/// run only where nothing else does (SCHED_IDLE) stand in line by intent and are left out, as are
/// those that have ended. Seconds.
struct ThreadUse {
  double cpu_s = 0;    ///< that they ran
  double ready_s = 0;  ///< that they could have run, and others did
};
/// From /proc/self/task, a file or two for each thread; what is missing there counts as 0.
ThreadUse read_thread_use(const std::filesystem::path& process = "/proc/self");

/// Equal for all hosts that are one machine (namespaces, containers): the kernel's name of its
/// boot. Empty: not known.
std::string machine_name(const std::filesystem::path& proc = "/proc");

}  // namespace syrtos::trace

#pragma once

#include <optional>
#include <string>

#include "syrtos/report/explain.h"

namespace syrtos::report {

/// What a rank got of its CPUs while it trained.
struct CpuUse {
  double cpus = 0;     ///< seconds of CPU in a second
  double in_line = 0;  ///< share of the time that its threads wanted to run in which others did
  int64_t threads = 0, cores = 0;
};
/// Nothing where it is not known, or the rank hardly computed.
std::optional<CpuUse> cpu_use(const Run& run, int rank);

/// Ranks whose threads stand in line for CPUs because too many of ours want to run: more threads
/// than cores, several ranks on them, hosts that are one machine.
struct TooFewCpus {
  std::string text = {};
  bool others = false;  ///< it is not ours that take them: other programs do
  double seconds = 0;   ///< of a step, that is lost by it at most
  int64_t threads = 0;  ///< for each rank, with which all would have a core; 0: that is no remedy
};
std::optional<TooFewCpus> too_few_cpus(const Explanation& explanation, const Run& run);

}  // namespace syrtos::report

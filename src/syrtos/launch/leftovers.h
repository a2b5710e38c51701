#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace syrtos::launch {

/// A rank's process of some run.
struct Leftover {
  int64_t process = 0;
  std::string run;       ///< its directory, as its command line says
  bool stopped = false;  ///< by a signal, or a debugger
};

/// The ranks' processes on this machine that this user can see. A rank ends with its launcher, so
/// that what is found here is at work, stopped, or hangs.
std::vector<Leftover> find_leftovers();

}  // namespace syrtos::launch

#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "syrtos/launch/allocation.h"

namespace syrtos::launch {

/// In which all ranks that something else starts come, one after the other.
constexpr std::chrono::minutes kStartTimeout{5};

/// Where rank 0 is where all ranks are on one host: nobody else reaches it there.
constexpr const char* kThisHost = "127.0.0.1";

/// Where the ranks that something else has started meet: a scheduler (launch/scheduler.h) on a
/// thread of rank 0's process. Whoever started the ranks also ends them: when one is lost, the
/// others learn it through the world, and fail.
class Lead {
 public:
  /// Listens at once. `servers`: the last ranks. Throws RequestError when the port is taken. Ranks
  /// that have not come within `timeout` are named to the others, which end.
  Lead(const StartedRank& started, int servers, int patience,
       std::chrono::seconds timeout = kStartTimeout);
  /// Waits, for some seconds at most, until the others have left or are lost.
  ~Lead();
  Lead(const Lead&) = delete;
  Lead& operator=(const Lead&) = delete;

  /// Tells all, also those that come later, that everything is over, and why.
  void end(const std::string& why);

 private:
  class Thread;
  std::unique_ptr<Thread> thread_;
};

}  // namespace syrtos::launch

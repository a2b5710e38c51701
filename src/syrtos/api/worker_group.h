#pragma once

#include <functional>
#include <memory>

#include "syrtos/collective/collective.h"
#include "syrtos/launch/allocation.h"

namespace syrtos::api {

/// Processes that something else has started, one for each worker, for training loops of one's own.
/// What they do together all of them call in the same order, with the same sizes; a call blocks
/// until it is done here. Calls come from one thread. When one has failed, or a worker is lost
/// (world::PeerLost, which names it), the group is over.
class WorkerGroup {
 public:
  struct Options {
    int patience = 10;      ///< Seconds that the network may be cut, or a process be stopped.
    bool encrypted = true;  ///< What crosses between hosts.
    int cores = 1;          ///< Of this machine.
    /// Asked some times a second, on the thread that waits for others: true ends the wait, and the
    /// group, with RunError.
    std::function<bool()> should_stop = [] { return false; };
  };

  /// Of this process alone.
  WorkerGroup();
  /// Waits until all have come, for 5 minutes at most. Throws RequestError, RunError.
  WorkerGroup(const launch::StartedRank& started, Options options);
  /// As leave().
  ~WorkerGroup();
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;

  int rank() const;
  int size() const;
  /// Of them on this host.
  int here() const;

  /// The sum, the smallest or the largest of all workers' values, the same bits for all.
  void all_reduce(const collective::Values& values,
                  collective::Reduction reduction = collective::Reduction::sum);
  /// The same, which goes on while this thread does other things; several follow each other. The
  /// values stay where they are until finish(), which waits for all that was started, or abandon().
  void start_all_reduce(const collective::Values& values,
                        collective::Reduction reduction = collective::Reduction::sum);
  void finish();
  /// The root's memory to all.
  void broadcast(void* data, size_t bytes, int root);
  /// Nobody goes on before all have come.
  void barrier();
  /// Leaves in good order: the others lose this worker when they still expect something of it.
  void leave();
  /// The same without waiting for what was started, which others may still expect: nothing uses its
  /// memory any more.
  void abandon();

 private:
  class Member;
  std::unique_ptr<Member> member_;  ///< None: alone.
};

}  // namespace syrtos::api

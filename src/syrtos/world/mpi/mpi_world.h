#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/world/work_queue.h"
#include "syrtos/world/world.h"

namespace syrtos::world {

class Communicator;
class MpiLibrary;
class MpiWorld;

/// This process's part in an MPI job (mpirun, srun): from MPI_Init to MPI_Finalize. One per
/// process, made and destroyed by its main thread.
class MpiJob {
 public:
  /// `preferred`: which MPI started this process, see MpiLibrary. Throws RequestError when there is
  /// no MPI here.
  explicit MpiJob(const std::string& preferred = "");
  /// Waits for the other ranks.
  ~MpiJob();
  MpiJob(const MpiJob&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;

  Rank rank() const;
  int size() const;
  /// A world of the first `ranks` ranks, of all by default; nullptr for the others. All ranks of
  /// the job must call it. One world of a process at a time.
  std::unique_ptr<MpiWorld> make_world(int ranks = 0);
  /// Every rank's text; all ranks must call it.
  std::vector<std::string> gather(const std::string& text) const;

 private:
  std::unique_ptr<MpiLibrary> mpi_;
  std::unique_ptr<Communicator> all_;
};

/// Ranks as processes of an MPI job.
///
/// The world's thread alone calls MPI. While nothing happens it sleeps, for an eighth of the time
/// for which nothing has happened and 1 ms at most, so that it takes no core from those who
/// compute: what arrives is noticed at most an eighth of its waiting time too late.
///
/// A rank whose program has ended or failed is lost to the others, which can go on. A process that
/// dies takes the whole job with it: MPI ends all of them. So does a native all-reduce that fails
/// or is cancelled, when the world is destroyed: MPI cannot take it back.
class MpiWorld final : public World {
 public:
  /// Stays until every rank's program has ended, since they may still have something to send here.
  /// Where this one has failed, or MPI cannot go on, and others do not leave within 30 s, it ends
  /// the job with all of its processes.
  ~MpiWorld() override;

  /// Called before the job is ended: what this process has to say, it must say there.
  void before_abort(std::function<void()> say) { before_abort_ = std::move(say); }

  /// Runs the program on the world's thread; work for the pool runs on the thread that calls this.
  /// Throws what the program throws. Can be called once.
  void run(Task<> program);

  double now() const override { return seconds_since(start_); }
  bool is_lost(Rank rank) const override;
  bool has_all_reduce() const override { return true; }

 protected:
  void start_send(Message& message) override;
  void start_recv(Message& message) override;
  void start_compute(Compute& compute) override;
  void start_all_reduce(AllReduce& all_reduce) override;
  void abandon(Message& message) override;
  void abandon(Compute& compute) override { work_.drop(compute); }
  void abandon_all_reduce(AllReduce& all_reduce) override;

 private:
  friend class MpiJob;
  class Transport;

  MpiWorld(Rank rank, std::vector<std::string> hosts, std::unique_ptr<Communicator> ranks);
  void loop(Task<> program, std::exception_ptr& error);
  bool step();
  void rest();
  void abort();

  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_event_ = start_;
  bool ran_ = false;
  bool failed_ = false;
  std::function<void()> before_abort_;
  Agenda agenda_;
  WorkQueue work_;
  std::unique_ptr<Communicator> ranks_;
  std::unique_ptr<Transport> transport_;
};

}  // namespace syrtos::world

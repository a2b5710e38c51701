#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "syrtos/base/error.h"
#include "syrtos/world/payload.h"
#include "syrtos/world/tag.h"
#include "syrtos/world/task.h"
#include "syrtos/world/waiter.h"
#include "syrtos/world/work.h"

namespace syrtos::world {

class World;

/// A rank ended, or can no longer be reached.
class PeerLost : public RunError {
 public:
  PeerLost(Rank rank, const std::string& text) : RunError(text), rank_(rank) {}
  Rank rank() const { return rank_; }

 private:
  Rank rank_;
};

/// A rank did not come to where all meet.
class NotMet : public RunError {
 public:
  NotMet(Rank rank, const std::string& text) : RunError(text), rank_(rank) {}
  Rank rank() const { return rank_; }

 private:
  Rank rank_;
};

/// Something that should have happened did not. `rank`: who was to do it; -1: nobody in particular.
class DeadlinePassed : public RunError {
 public:
  explicit DeadlinePassed(const std::string& text, Rank rank = -1) : RunError(text), rank_(rank) {}
  Rank rank() const { return rank_; }

 private:
  Rank rank_;
};

/// Two ranks are not at the same place of their program.
class Mismatch : public RunError {
 public:
  using RunError::RunError;
};

/// Coroutines that can go on, and moments that will come. Belongs to one thread.
struct Agenda {
  WaitList ready;
  TimerHeap timers;

  /// Resumes whoever can go on until nobody can.
  void run_ready() {
    while (!ready.empty()) ready.pop().resume();
  }
};

/// What a coroutine awaits of its world: `co_await world.recv(...)`. It lives in the coroutine's
/// frame; destroying it abandons the operation. The timer is its deadline, or the end of a sleep.
class Operation : public Waiter, public Timer {
 public:
  bool await_ready() const noexcept { return false; }
  /// False: it was done at once.
  bool await_suspend(std::coroutine_handle<> handle);
  void await_resume() const { rethrow(); }

  // For worlds.
  bool pending() const { return state_ == State::pending || state_ == State::starting; }
  /// The coroutine goes on as soon as its world's thread is free.
  void finish();
  void fail(std::exception_ptr error);
  /// The timer's moment has come.
  virtual void expire() = 0;

 protected:
  explicit Operation(World& world) : world_(world) {}
  ~Operation() = default;
  virtual void start() = 0;
  World& world() const { return world_; }

 private:
  enum class State { created, starting, pending, done };
  World& world_;
  State state_ = State::created;
};

class Message;

/// Told of messages, for measuring: when a rank starts to send or to receive one, and when that is
/// over, whether it succeeded or not.
class MessageWatcher {
 public:
  virtual ~MessageWatcher() = default;
  virtual void started(Message& message) = 0;
  virtual void ended(const Message& message) = 0;
};

/// How long a message may take. As it is: until the world's deadline has passed.
struct Patience {
  static constexpr double kForever = std::numeric_limits<double>::infinity();

  /// Above 0: as long as it wishes, while the other rank says anything to this one. If it says
  /// nothing for so long it is given up, and it is said each time that a deadline passes.
  double silence = 0;
  /// When somebody began to wait for it, which may change; kForever: nobody does yet. nullptr: from
  /// the beginning.
  const double* since = nullptr;
};

/// A message on its way, at one of its ends.
class Message final : public Operation {
 public:
  enum class Direction { send, recv };

  ~Message();
  void expire() override;
  void await_resume() const;

  const Direction direction;
  const Rank peer;
  const Tag tag;
  const Source source;  ///< of a send
  const Target target;  ///< of a recv
  const int priority;   ///< of a send: higher ones overtake
  const Patience patience;
  size_t bytes() const { return direction == Direction::send ? source.bytes : target.bytes; }

  // For worlds.
  uint64_t sequence = 0;  ///< of its lane
  size_t moved = 0;       ///< bytes that crossed
  void* state = nullptr;

  // For whoever watches.
  int64_t began = 0;
  uint64_t number = 0;

 private:
  friend class World;
  Message(World& world, Direction the_direction, Rank the_peer, Tag the_tag, Source the_source,
          Target the_target, int the_priority, Patience the_patience)
      : Operation(world),
        direction(the_direction),
        peer(the_peer),
        tag(the_tag),
        source(the_source),
        target(the_target),
        priority(the_priority),
        patience(the_patience) {}
  void start() override;
  void restart_timer(double at);
  bool waits_on();

  double started_ = 0;
};

class Sleep final : public Operation {
 public:
  void expire() override { finish(); }

 private:
  friend class World;
  Sleep(World& world, double seconds) : Operation(world), seconds_(seconds) {}
  void start() override;
  double seconds_;
};

/// Who computes: the threads that train, one piece of work after the other, or the world's own
/// thread, which moves no bytes meanwhile.
enum class Where { pool, here };

class Compute final : public Operation {
 public:
  ~Compute();
  void expire() override {}

  const double seconds;  ///< it takes in a simulated world
  const Work work;
  const Where where;

  // For worlds.
  void* state = nullptr;

 private:
  friend class World;
  Compute(World& world, double the_seconds, Work the_work, Where the_where)
      : Operation(world), seconds(the_seconds), work(std::move(the_work)), where(the_where) {}
  void start() override;
};

/// A reduction over all ranks that the world has a way of its own for, such as MPI's.
class AllReduce final : public Operation {
 public:
  ~AllReduce();
  void expire() override;

  void* const values;  ///< each rank's, and then what all of them come to
  const size_t count;
  const Element element;
  const Reduction reduction;
  size_t bytes() const { return count * bytes_of(element); }

  // For worlds.
  size_t parts = 0;  ///< that are still on their way

 private:
  friend class World;
  AllReduce(World& world, void* the_values, size_t the_count, Element the_element,
            Reduction the_reduction)
      : Operation(world),
        values(the_values),
        count(the_count),
        element(the_element),
        reduction(the_reduction) {}
  void start() override;
};

/// What crossed the network; messages of a rank to itself do not count.
struct Traffic {
  uint64_t messages_sent = 0;
  uint64_t messages_received = 0;
  uint64_t bytes_sent = 0;  ///< of payloads
  uint64_t bytes_received = 0;
};

/// What the network itself says of the way to another rank, since the two are connected.
struct LinkUse {
  Rank peer = 0;
  double bytes = 0;           ///< that were sent and arrived
  double busy_s = 0;          ///< that bytes were on their way there, and the peer took them
  int64_t retransmitted = 0;  ///< packets that were sent again
};

/// One rank's view of the ranks that work together: everything that a distribution strategy may
/// do. The same strategy runs over sockets (tcp), MPI (mpi), in one process (local) and in a
/// simulated cluster in virtual time (sim).
///
/// All calls and all coroutines of a world belong to one thread.
class World {
 public:
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  virtual ~World() = default;

  Rank rank() const { return rank_; }
  int size() const { return static_cast<int>(hosts_.size()); }
  const std::string& host(Rank rank) const { return hosts_[static_cast<size_t>(rank)]; }
  /// "rank 2 on c".
  std::string name(Rank rank) const;
  /// Seconds on this world's clock.
  virtual double now() const = 0;
  /// False: messages have sizes only and work is not run, its time passes.
  virtual bool carries_data() const { return true; }
  virtual bool is_lost(Rank rank) const = 0;
  const Traffic& traffic() const { return traffic_; }
  /// Of all ranks on other hosts to which something was sent, where the world can tell.
  virtual std::vector<LinkUse> links() const { return {}; }

  /// Done when the memory can be used again: the message may still be on its way. A rank may send
  /// to itself.
  Message send(Rank to, Tag tag, Source source, int priority = 0, Patience patience = {});
  /// Done when the message has arrived. Throws PeerLost when it cannot come any more,
  /// DeadlinePassed when it did not, Mismatch when the sender sent something else.
  Message recv(Rank from, Tag tag, Target target, Patience patience = {});
  Sleep sleep(double seconds);
  /// Runs `work`, which takes `seconds` where time is simulated. What it throws is thrown here.
  Compute compute(double seconds, Work work, Where where = Where::pool);

  virtual bool has_all_reduce() const { return false; }
  /// Reduces in place over all ranks, which must start these in the same order. Only in worlds that
  /// have it, and not for bf16. If it fails the world can do nothing else any more.
  AllReduce all_reduce(void* values, size_t count, Element element = Element::f32,
                       Reduction reduction = Reduction::sum);

  Agenda& agenda() { return agenda_; }
  /// nullptr: nobody. The watcher stays until it is replaced.
  void watch_messages(MessageWatcher* watcher) { watcher_ = watcher; }

  /// Called with a text when a rank for which somebody waits patiently says nothing.
  void tell_of_silence(std::function<void(const std::string&)> told) { told_ = std::move(told); }
  /// When something that somebody awaited came from there, on this world's clock.
  double heard_from(Rank rank) const { return heard_[static_cast<size_t>(rank)]; }

  /// Longest wait for one message.
  double deadline() const { return deadline_; }
  void set_deadline(double seconds) { deadline_ = seconds; }

 protected:
  /// `numbers`: by which people know the ranks; empty: their ranks.
  World(Rank rank, std::vector<std::string> hosts, Agenda& agenda, std::vector<Rank> numbers = {})
      : rank_(rank),
        hosts_(std::move(hosts)),
        numbers_(std::move(numbers)),
        agenda_(agenda),
        heard_(hosts_.size(), 0.0) {}

  /// Called once the deadline runs. Either may call finish() or fail() at once.
  virtual void start_send(Message& message) = 0;
  virtual void start_recv(Message& message) = 0;
  virtual void start_compute(Compute& compute) = 0;
  /// The operation is pending and its memory is about to go.
  virtual void abandon(Message& message) = 0;
  virtual void abandon(Compute& compute) = 0;
  /// The rank is lost from now on, if this world can make it so.
  virtual void give_up(Rank, const std::string& why) { static_cast<void>(why); }
  virtual void start_all_reduce(AllReduce& all_reduce);
  virtual void abandon_all_reduce(AllReduce&) {}

  std::exception_ptr peer_lost(const Message& message, std::string_view why) const;
  std::exception_ptr mismatch(const Message& expected, const Tag& found, size_t bytes) const;
  Traffic& count() { return traffic_; }

 private:
  void tell_silence(const Message& message, double since) const;

  friend class Message;
  friend class Compute;
  friend class AllReduce;

  const Rank rank_;
  const std::vector<std::string> hosts_;
  const std::vector<Rank> numbers_;
  Agenda& agenda_;
  double deadline_ = 600;
  MessageWatcher* watcher_ = nullptr;
  Traffic traffic_;
  std::vector<double> heard_;
  std::function<void(const std::string&)> told_;
};

}  // namespace syrtos::world

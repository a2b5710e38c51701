#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace syrtos {

/// Writes what may have to wait for a disk, a pipe or a terminal, in order, on a thread of its own,
/// so that whoever asks for it never waits. Work must not throw. All calls are safe from any
/// thread.
class Scribe {
 public:
  /// What is left out when too much waits.
  enum class LeavesOut { newest, oldest };

  /// `most`: pieces of work that may wait at a time.
  explicit Scribe(size_t most = 1000, LeavesOut leaves_out = LeavesOut::newest)
      : most_(most), leaves_out_(leaves_out), thread_([this] { serve(); }) {}
  /// Waits until all is written, however long that takes.
  ~Scribe();
  Scribe(const Scribe&) = delete;
  Scribe& operator=(const Scribe&) = delete;

  /// Does it after all that was asked for before. False: too much waits, and something is left out.
  bool post(std::function<void()> work);
  /// The same for work of which only the newest counts: what waits under the same key is replaced.
  void post_newest(int key, std::function<void()> work);
  /// Waits until all that was asked for so far is written.
  void drain();

 private:
  static constexpr int kNoKey = -1;
  struct Work {
    int key = kNoKey;
    std::function<void()> work;
  };
  bool leave_out_oldest();
  void serve();

  const size_t most_;
  const LeavesOut leaves_out_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> waiting_;
  uint64_t asked_ = 0;  // pieces of work, as done_
  uint64_t done_ = 0;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace syrtos

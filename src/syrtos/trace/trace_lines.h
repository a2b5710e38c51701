#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "syrtos/trace/events.h"

namespace syrtos::trace {

/// What one line of a trace file says.
struct TraceLine {
  char phase = 0;
  std::string name, category, id;
  std::optional<int64_t> process, thread;
  double start = 0, duration = 0;  // microseconds

  struct Value {
    std::string key, text;
    int64_t number = 0;
    double real = 0;
    bool is_text = false;
  };
  std::vector<Value> values;  // the first `used`; kept for their memory
  size_t used = 0;

  void clear() {
    phase = 0;
    name.clear(), category.clear(), id.clear();
    process.reset(), thread.reset();
    start = duration = 0;
    used = 0;
  }
  const Value* find(std::string_view key) const {
    for (size_t i = 0; i < used; ++i) {
      if (values[i].key == key) return &values[i];
    }
    return nullptr;
  }
};

/// Makes ranks and tracks of lines.
class TraceCollector {
 public:
  /// Nanoseconds that the file's times count from.
  void set_origin(int64_t ns) { origin_ = ns; }
  /// False for a line that no trace of ours has: expected() says what would be right.
  bool add(const TraceLine& line);

  int64_t events() const { return events_; }
  const std::string& expected() const { return expected_; }
  std::vector<RankEvents> take() { return std::move(ranks_); }

 private:
  /// Where a thread's events go.
  struct Thread {
    size_t rank = 0, track = 0;
    std::optional<size_t> last = {};  // the event that a following arrow belongs to
  };

  bool fail(std::string_view expected);
  bool add_process(const TraceLine& line);
  bool add_thread(const TraceLine& line);
  bool add_event(const TraceLine& line, Thread& thread);
  bool add_flow(const TraceLine& line, const Thread& thread);
  Thread* thread_of(const TraceLine& line);

  int64_t origin_ = 0;
  int64_t events_ = 0;
  std::string expected_;
  std::vector<RankEvents> ranks_;
  std::map<int64_t, size_t> processes_;  // their ranks
  std::map<std::pair<int64_t, int64_t>, Thread> threads_;
  std::pair<int64_t, int64_t> recent_key_;
  Thread* recent_ = nullptr;  // most lines belong to the same thread as the one before
};

}  // namespace syrtos::trace

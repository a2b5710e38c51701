#pragma once

#include <atomic>
#include <bit>
#include <chrono>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/trace/events.h"

namespace syrtos::trace {

/// Nanoseconds of the steady clock, as events have them.
inline int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

class Recorder;

/// Where one thread records; no other may at the same time. Recording is a few stores into memory
/// that belongs to the track and never throws; when the recorder is off or full it is a load.
class Track {
 public:
  ~Track();
  Track(const Track&) = delete;
  Track& operator=(const Track&) = delete;

  bool on() const { return on_.load(std::memory_order_relaxed); }

  // All record nothing while the recorder is off. Arguments are written {{key, 7}, {key, text}}.
  using Given = std::initializer_list<Argument>;
  void span(Name name, int64_t start, int64_t end, Given arguments = {}) {
    if (on()) store(Kind::span, name, start, end, 0, arguments);
  }
  void instant(Name name, int64_t at, Given arguments = {}) {
    if (on()) store(Kind::instant, name, at, at, 0, arguments);
  }
  void counter(Name name, int64_t at, double value) {
    if (on()) store(Kind::counter, name, at, at, std::bit_cast<uint64_t>(value), {});
  }
  /// A span in which the message with this id (flow_id) left or came: an arrow leads from the start
  /// of the one to the end of the other. Ids must not repeat within a run.
  void sent(Name name, int64_t start, int64_t end, uint64_t flow, Given arguments = {}) {
    if (on()) store(Kind::sent, name, start, end, flow, arguments);
  }
  void received(Name name, int64_t start, int64_t end, uint64_t flow, Given arguments = {}) {
    if (on()) store(Kind::received, name, start, end, flow, arguments);
  }

 private:
  friend class Recorder;
  friend class Span;
  struct Chunk;

  Track(Recorder& recorder, std::string name);
  void store(Kind kind, Name name, int64_t start, int64_t end, uint64_t flow,
             const Arguments& arguments) noexcept {
    Event* event = next_ != last_ ? next_++ : next_chunk();
    if (event == nullptr) return;
    new (event) Event{start, end, flow, arguments, name, kind};
    written_.store(++count_, std::memory_order_release);
  }
  Event* next_chunk() noexcept;
  TrackEvents copy() const;

  Recorder& recorder_;
  const std::atomic<bool>& on_;
  const std::string name_;
  Event* next_ = nullptr;  // up to last_: free
  Event* last_ = nullptr;
  int64_t count_ = 0;
  std::atomic<int64_t> written_ = 0;  // that a copy may read
  std::atomic<int64_t> dropped_ = 0;
  std::atomic<Chunk*> first_chunk_ = nullptr;
  Chunk* last_chunk_ = nullptr;
};

struct RecorderOptions {
  int rank = 0;
  std::string host = {};
  int64_t max_events = 1'000'000;  // 64 bytes each, taken as they are needed
  /// These come first, in this order, which is the one in which viewers show them.
  std::vector<std::string> tracks = {};
  bool on = true;
};

/// The events of one rank. Tracks and names are made once, beforehand, by any thread; what is hot
/// is recorded through a Track. All calls but those of tracks may come from any thread.
class Recorder {
 public:
  explicit Recorder(RecorderOptions options);

  /// A new track, or the one that has this name already. It lives as long as the recorder.
  Track* track(std::string_view name);
  Name name(std::string_view text, std::string_view category = "");

  /// Spans that are open when it is switched off are still recorded.
  void turn(bool on) { on_.store(on, std::memory_order_relaxed); }
  bool on() const { return on_.load(std::memory_order_relaxed); }

  /// Of all tracks.
  int64_t recorded() const;
  int64_t dropped() const;
  /// A copy of what is recorded so far; threads may go on recording meanwhile.
  RankEvents events() const;

 private:
  friend class Track;
  /// Up to this many more events may be kept; 0 when it is full.
  int64_t take_room(int64_t wanted) noexcept;

  const RecorderOptions options_;
  std::atomic<bool> on_;
  std::atomic<int64_t> room_;
  mutable std::mutex mutex_;  // of what follows
  std::vector<std::unique_ptr<Track>> tracks_;
  NameTable names_;
};

// Without a recorder (nullptr) there are no tracks, and a Span of no track does nothing.
inline Track* track_of(Recorder* recorder, std::string_view name) {
  return recorder == nullptr ? nullptr : recorder->track(name);
}
inline Name name_of(Recorder* recorder, std::string_view text, std::string_view category = "") {
  return recorder == nullptr ? Name{} : recorder->name(text, category);
}

/// Records the time from here to the end of its block.
class Span {
 public:
  Span(Track* track, Name name, Track::Given arguments = {})
      : track_(track != nullptr && track->on() ? track : nullptr) {
    if (track_ == nullptr) return;
    name_ = name;
    arguments_ = arguments;
    start_ = now();
  }
  ~Span() {
    if (track_ != nullptr) track_->store(Kind::span, name_, start_, now(), 0, arguments_);
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  /// One that becomes known on the way.
  void add(const Argument& argument) {
    if (track_ != nullptr) arguments_.add(argument);
  }

 private:
  Track* track_;
  Name name_ = {};
  int64_t start_ = 0;
  Arguments arguments_;
};

}  // namespace syrtos::trace

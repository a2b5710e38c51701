#include "syrtos/trace/recorder.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <utility>

#include "syrtos/base/error.h"

namespace syrtos::trace {

namespace {
constexpr int64_t kChunk = 1024;  // events; 64 KB
}

/// Chunks are linked, so that a copy can be made while the track's thread goes on.
struct Track::Chunk {
  Event* events() { return reinterpret_cast<Event*>(memory.data()); }

  alignas(64) std::array<std::byte, kChunk * sizeof(Event)> memory;  // not touched before its use
  int64_t size = 0;                                                  // of them that may be used
  std::atomic<Chunk*> next = nullptr;
};

Track::Track(Recorder& recorder, std::string name)
    : recorder_(recorder), on_(recorder.on_), name_(std::move(name)) {}

Track::~Track() {
  for (Chunk* chunk = first_chunk_.load(); chunk != nullptr;) {
    delete std::exchange(chunk, chunk->next.load());
  }
}

Event* Track::next_chunk() noexcept {
  const int64_t room = recorder_.take_room(kChunk);
  Chunk* chunk = room > 0 ? new (std::nothrow) Chunk : nullptr;
  if (chunk == nullptr) {
    dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return nullptr;
  }
  chunk->size = room;
  std::atomic<Chunk*>& link = last_chunk_ == nullptr ? first_chunk_ : last_chunk_->next;
  link.store(chunk, std::memory_order_release);
  last_chunk_ = chunk;
  next_ = chunk->events();
  last_ = next_ + room;
  return next_++;
}

TrackEvents Track::copy() const {
  TrackEvents copied{name_, dropped_.load(std::memory_order_relaxed), {}};
  int64_t left = written_.load(std::memory_order_acquire);
  copied.events.reserve(static_cast<size_t>(left));
  for (Chunk* chunk = first_chunk_.load(std::memory_order_acquire); left > 0;
       chunk = chunk->next.load(std::memory_order_acquire)) {
    const int64_t here = std::min(left, chunk->size);
    copied.events.insert(copied.events.end(), chunk->events(), chunk->events() + here);
    left -= here;
  }
  return copied;
}

Recorder::Recorder(RecorderOptions options)
    : options_(std::move(options)), on_(options_.on), room_(options_.max_events) {
  SYRTOS_CHECK(options_.max_events >= 0, "{}", options_.max_events);
  for (const std::string& name : options_.tracks) track(name);
}

Track* Recorder::track(std::string_view name) {
  const std::lock_guard lock(mutex_);
  for (const auto& track : tracks_) {
    if (track->name_ == name) return track.get();
  }
  tracks_.push_back(std::unique_ptr<Track>(new Track(*this, std::string(name))));
  return tracks_.back().get();
}

Name Recorder::name(std::string_view text, std::string_view category) {
  const std::lock_guard lock(mutex_);
  return names_.intern(text, category);
}

int64_t Recorder::take_room(int64_t wanted) noexcept {
  int64_t room = room_.load(std::memory_order_relaxed);
  while (room > 0) {
    const int64_t taken = std::min(room, wanted);
    if (room_.compare_exchange_weak(room, room - taken, std::memory_order_relaxed)) return taken;
  }
  return 0;
}

int64_t Recorder::recorded() const {
  const std::lock_guard lock(mutex_);
  int64_t sum = 0;
  for (const auto& track : tracks_) sum += track->written_.load(std::memory_order_relaxed);
  return sum;
}

int64_t Recorder::dropped() const {
  const std::lock_guard lock(mutex_);
  int64_t sum = 0;
  for (const auto& track : tracks_) sum += track->dropped_.load(std::memory_order_relaxed);
  return sum;
}

RankEvents Recorder::events() const {
  const std::lock_guard lock(mutex_);
  RankEvents events;
  events.rank = options_.rank;
  events.host = options_.host;
  for (const auto& track : tracks_) events.tracks.push_back(track->copy());
  events.names = names_;  // last: it has the names of all events above
  return events;
}

}  // namespace syrtos::trace

#include "syrtos/trace/events.h"

namespace syrtos::trace {

namespace {
constexpr size_t kMaxNames = size_t{1} << 16;
}

NameTable::NameTable() { intern("other"); }

Name NameTable::intern(std::string_view text, std::string_view category) {
  key_.assign(category);
  key_ += '\0';
  key_ += text;
  const auto found = numbers_.find(key_);
  if (found != numbers_.end()) return found->second;
  if (entries_.size() == kMaxNames) return Name{};
  const auto name = static_cast<Name>(entries_.size());
  entries_.push_back({std::string(text), std::string(category)});
  numbers_.emplace(key_, name);
  return name;
}

int64_t RankEvents::count() const {
  int64_t sum = 0;
  for (const TrackEvents& track : tracks) sum += static_cast<int64_t>(track.events.size());
  return sum;
}

int64_t RankEvents::dropped() const {
  int64_t sum = 0;
  for (const TrackEvents& track : tracks) sum += track.dropped;
  return sum;
}

}  // namespace syrtos::trace

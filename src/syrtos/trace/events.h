#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "syrtos/trace/clock_alignment.h"

namespace syrtos::trace {

/// An interned text: of an event (with its category), of an argument's key or value. Name{} is the
/// first of every table, "other".
enum class Name : uint16_t {};

/// Texts and their numbers. When all 65,536 are taken, new ones become Name{}, so that texts made
/// up at run time cannot fill the memory. One thread at a time.
class NameTable {
 public:
  struct Entry {
    std::string text;
    std::string category;  // empty: none
    bool operator==(const Entry&) const = default;
  };

  NameTable();
  Name intern(std::string_view text, std::string_view category = "");
  const Entry& operator[](Name name) const { return entries_.at(static_cast<size_t>(name)); }
  size_t size() const { return entries_.size(); }
  bool operator==(const NameTable& other) const { return entries_ == other.entries_; }

 private:
  std::vector<Entry> entries_;
  std::unordered_map<std::string, Name> numbers_;
  std::string key_;  // of a look-up, kept for its memory
};

enum class Kind : uint8_t {
  span,      // start to end
  instant,   // at start
  counter,   // from start on the name's value is number()
  sent,      // a span in which a message left: it has the id flow
  received,  // a span in which a message came
};
inline constexpr int kKinds = 5;

/// A key with a number or a text.
struct Argument {
  Argument(Name key_name, int64_t number) : key(key_name), value(number) {}
  Argument(Name key_name, Name text)
      : key(key_name), is_text(true), value(static_cast<int64_t>(text)) {}

  Name key;
  bool is_text = false;
  int64_t value;
};

/// The first three arguments of an event; more are left out.
class Arguments {
 public:
  static constexpr int kMost = 3;

  Arguments() = default;
  Arguments(std::initializer_list<Argument> arguments) {
    for (const Argument& argument : arguments) add(argument);
  }

  void add(const Argument& argument) {
    if (count_ == kMost) return;
    keys_[count_] = argument.key;
    values_[count_] = argument.value;
    text_mask_ |= static_cast<uint8_t>(argument.is_text ? 1 << count_ : 0);
    ++count_;
  }
  int size() const { return count_; }
  Argument operator[](int i) const {
    const bool is_text = (text_mask_ >> i & 1) != 0;
    return is_text ? Argument(keys_[i], static_cast<Name>(values_[i]))
                   : Argument(keys_[i], values_[i]);
  }
  bool operator==(const Arguments&) const = default;

 private:
  std::array<int64_t, kMost> values_ = {};
  std::array<Name, kMost> keys_ = {};
  uint8_t count_ = 0;
  uint8_t text_mask_ = 0;  // bit i: values_[i] is a Name
};

/// What happened once; a cache line. Times are nanoseconds of the rank's steady clock.
struct Event {
  int64_t start = 0;
  int64_t end = 0;    // of an instant and a counter: start
  uint64_t flow = 0;  // sent, received: the message's id; counter: the bits of its value
  Arguments arguments = {};
  Name name = {};
  Kind kind = Kind::span;

  double number() const { return std::bit_cast<double>(flow); }  // of a counter
  bool is_span() const { return kind != Kind::instant && kind != Kind::counter; }
  bool operator==(const Event&) const = default;
};
static_assert(sizeof(Event) == 64);

/// What one track (a thread, a direction of the network) recorded.
struct TrackEvents {
  std::string name;
  int64_t dropped = 0;  // events for which there was no room
  std::vector<Event> events;
  bool operator==(const TrackEvents&) const = default;
};

/// What one rank recorded. `clock` maps its times to rank 0's; the identity for rank 0 itself.
struct RankEvents {
  int rank = 0;
  std::string host;
  NameTable names;
  std::vector<TrackEvents> tracks;
  ClockMap clock = {};

  int64_t count() const;
  int64_t dropped() const;
  bool operator==(const RankEvents&) const = default;
};

/// The id of the number-th message from one rank to another, the same on both sides.
constexpr uint64_t flow_id(int from, int to, uint64_t number) {
  return static_cast<uint64_t>(from & 0xfff) << 52 | static_cast<uint64_t>(to & 0xfff) << 40 |
         (number & 0xffffffffff);
}

}  // namespace syrtos::trace

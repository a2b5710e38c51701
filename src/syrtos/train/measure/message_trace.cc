#include "syrtos/train/measure/message_trace.h"

namespace syrtos::train {

using world::Message;
using world::Purpose;

namespace {

/// The same at both ends, and for each message of a run another, as far as 40 bits can be.
uint64_t number_of(const Message& message) {
  uint64_t x = message.number << 32 | message.tag.lane();
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  return x;
}

}  // namespace

MessageTrace::MessageTrace(world::World& world, trace::Recorder& recorder)
    : world_(world),
      sends_(*recorder.track("network, sent")),
      receives_(*recorder.track("network, received")),
      bytes_(recorder.name("bytes")),
      item_(recorder.name("item")),
      peer_(recorder.name("peer")) {
  for (size_t i = 0; i < kPurposes; ++i) {
    purposes_[i] = recorder.name(world::to_string(static_cast<Purpose>(i)), "message");
  }
  world_.watch_messages(this);
}

void MessageTrace::started(Message& message) {
  const bool sends = message.direction == Message::Direction::send;
  const uint64_t key = static_cast<uint64_t>(message.peer) << 33 |
                       static_cast<uint64_t>(sends ? 1 : 0) << 32 | message.tag.lane();
  message.number = ++counts_[key];
  // News are awaited all the time.
  const bool shown = message.tag.purpose != Purpose::news;
  message.began = shown && sends_.on() ? trace::now() : 0;
}

void MessageTrace::ended(const Message& message) {
  if (message.began == 0) return;
  const auto purpose = static_cast<size_t>(message.tag.purpose);
  const trace::Name name = purpose < kPurposes ? purposes_[purpose] : trace::Name{};
  const int64_t now = trace::now();
  const auto bytes = static_cast<int64_t>(message.bytes());
  const int64_t item = message.tag.item;
  const int64_t peer = message.peer;
  if (message.direction == Message::Direction::send) {
    const uint64_t flow = trace::flow_id(world_.rank(), message.peer, number_of(message));
    sends_.sent(name, message.began, now, flow, {{bytes_, bytes}, {item_, item}, {peer_, peer}});
  } else {
    const uint64_t flow = trace::flow_id(message.peer, world_.rank(), number_of(message));
    receives_.received(name, message.began, now, flow,
                       {{bytes_, bytes}, {item_, item}, {peer_, peer}});
  }
}

}  // namespace syrtos::train

#pragma once

#include <array>
#include <unordered_map>

#include "syrtos/trace/recorder.h"
#include "syrtos/world/world.h"

namespace syrtos::train {

/// Records the messages of a world, while its recorder is on.
class MessageTrace final : public world::MessageWatcher {
 public:
  /// All outlive it. To be made before the first message, on every rank: messages of a lane are
  /// counted, so that both ends know which is which.
  MessageTrace(world::World& world, trace::Recorder& recorder);
  ~MessageTrace() override { world_.watch_messages(nullptr); }

  void started(world::Message& message) override;
  void ended(const world::Message& message) override;

 private:
  static constexpr size_t kPurposes = 12;
  world::World& world_;
  trace::Track& sends_;
  trace::Track& receives_;
  trace::Name bytes_, item_, peer_;
  std::array<trace::Name, kPurposes> purposes_ = {};
  std::unordered_map<uint64_t, uint64_t> counts_;  // by peer, direction and lane
};

}  // namespace syrtos::train

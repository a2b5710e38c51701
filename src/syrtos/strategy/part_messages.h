#pragma once

#include <list>
#include <map>
#include <vector>

#include "syrtos/strategy/meter.h"
#include "syrtos/strategy/replica.h"
#include "syrtos/world/started.h"
#include "syrtos/world/tag.h"
#include "syrtos/world/task.h"

namespace syrtos::strategy {

/// What crosses between the parts of a network while they compute. Whatever a pass will receive is
/// asked for as soon as a buffer is free for it, and what leaves does so beside computing, so only
/// what is late is waited for, and only that has a deadline: a pass may take as long as it wishes.
class PartMessages {
 public:
  /// All outlive it. `ranks`: who has each part. `kind` tells passes apart that cross beside each
  /// other.
  PartMessages(world::World& world, Meter& meter, std::vector<world::Rank> ranks, uint8_t kind = 0)
      : world_(world), meter_(meter), ranks_(std::move(ranks)), kind_(kind) {}

  /// The next pass has these stages, whose address stays as long as this.
  void begin(const std::vector<Stage>& stages, int64_t step);
  /// Whether a stage could run now.
  bool ready(size_t stage) const;
  /// Goes on when what the stage reads is here and where it writes is free.
  world::Task<> wait(size_t stage);
  /// The stage has run.
  void ran(size_t stage);
  /// Goes on when everything has left.
  world::Task<> settle();

 private:
  /// One that comes, and the next one into the same buffer.
  struct Coming {
    const PartMessage* message = nullptr;
    Coming* next = nullptr;
    world::Started task = {};
    double since = world::Patience::kForever;
  };
  struct Leaving {
    world::Started task = {};
    double since = world::Patience::kForever;
  };
  using Place = std::pair<uint16_t, int>;  // lane, buffer
  /// A pass that was taken before.
  struct Prepared {
    std::list<Coming> coming;
    std::vector<Coming*> first;                 // of each buffer
    std::vector<std::vector<Coming*>> arrives;  // by stage
  };

  Prepared prepared(const std::vector<Stage>& stages) const;
  void receive(Coming& coming);
  world::Task<> receive_message(const Coming& coming);
  world::Task<> send(const PartMessage& message, const double& since);
  /// Waits for what may have been asked for long ago: the deadline begins here.
  world::Task<> join(const world::Started& task, double& since);

  world::World& world_;
  Meter& meter_;
  const std::vector<world::Rank> ranks_;
  const uint8_t kind_;
  std::map<const std::vector<Stage>*, Prepared> prepared_;
  const std::vector<Stage>* stages_ = nullptr;
  Prepared* pass_ = nullptr;
  uint32_t round_ = 0;
  std::map<Place, Leaving> leaving_;
};

}  // namespace syrtos::strategy

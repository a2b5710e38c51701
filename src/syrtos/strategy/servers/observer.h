#pragma once

#include <optional>

#include "syrtos/strategy/meter.h"
#include "syrtos/strategy/servers/protocol.h"
#include "syrtos/world/task.h"

namespace syrtos::strategy {

/// Whoever measures a server of its own.
class ServerObserver {
 public:
  virtual ~ServerObserver() = default;
  virtual Meter& meter() = 0;
  /// The first gradient of this step (from 1) comes.
  virtual void step(int64_t number) = 0;
  /// Rank 0 asked for something of what was measured and listens.
  virtual world::Task<> tell(Command what) = 0;
};

/// The server does this from here to the end of the block: noted, if somebody measures it.
class Observed {
 public:
  Observed(ServerObserver* observer, Part part) {
    if (observer != nullptr) doing_.emplace(observer->meter(), part);
  }

 private:
  std::optional<Meter::Doing> doing_;
};

}  // namespace syrtos::strategy

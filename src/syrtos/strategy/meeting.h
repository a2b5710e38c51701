#pragma once

#include <functional>
#include <string>
#include <vector>

#include "syrtos/strategy/strategy.h"

namespace syrtos::strategy {

/// Workers meet now and then: each brings a text, rank 0 makes of all of them the one text that
/// everybody leaves with. Nobody leaves before all have come. Two small messages a worker.
class Meetings {
 public:
  using Decide = std::function<std::string(const std::vector<std::string>& texts)>;

  /// `spare`: meetings go on without workers that are lost; their text is empty, and they are
  /// lost for good.
  Meetings(World& world, const Team& team, bool spare)
      : world_(world), spare_(spare), present_(static_cast<size_t>(team.workers), true) {}

  Task<std::string> meet(std::string mine, Decide decide);

  /// Workers that came to the last meeting; known at rank 0.
  const std::vector<bool>& present() const { return present_; }

 private:
  Task<> host(std::vector<std::string>& texts);
  Task<> answer(Rank worker, const std::string& text);
  Task<> collect(Rank worker, std::string& text);

  World& world_;
  bool spare_;
  std::vector<bool> present_;
  uint32_t round_ = 0;
};

}  // namespace syrtos::strategy

#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/world/cluster.h"
#include "syrtos/world/started.h"

namespace syrtos::world {

class LocalWorld;

/// Ranks in one process and one thread, over memory. A message is copied once, from its sender's
/// memory to its receiver's, when both have come: nothing is buffered, so a program that would only
/// work with buffers stops here. Work runs where it is asked for. If nobody can go on, the first
/// deadline passes at once.
class LocalCluster final : public Cluster {
 public:
  explicit LocalCluster(int ranks);
  ~LocalCluster() override;

  int size() const override { return static_cast<int>(worlds_.size()); }
  std::vector<std::exception_ptr> run(const RankProgram& program) override;
  World& world(Rank rank);
  /// The rank's program ends here and now, unless it is the one that calls.
  void lose(Rank rank);

 private:
  friend class LocalWorld;
  struct Member;
  bool step();
  void give_up();
  void end_rank(Rank rank, std::string_view why);

  Agenda agenda_;
  Clock::time_point start_ = Clock::now();
  std::vector<std::unique_ptr<LocalWorld>> worlds_;
  std::vector<Member> members_;
};

}  // namespace syrtos::world

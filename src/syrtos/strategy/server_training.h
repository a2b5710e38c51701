#pragma once

#include <memory>
#include <optional>

#include "syrtos/collective/collective.h"
#include "syrtos/strategy/arrivals.h"
#include "syrtos/strategy/server.h"
#include "syrtos/strategy/strategy.h"
#include "syrtos/strategy/wire.h"

namespace syrtos::strategy {

/// A worker of parameter servers (server.h says what they do).
///
///   for each stage of the pass:
///     wait until the weights it needs have arrived
///     compute it
///     for each bucket whose gradient is final now, start exchange(piece) for each of its pieces
///
///   exchange(piece):
///     where workers take steps together: wait until the fourth piece before it was answered
///     push the gradient to the piece's server
///     hear that it was taken
///     when the pass is over, which still reads the weights: pull the new ones
///     (--update worker: pull the mean gradient and update)
class ServerTraining final : public Strategy {
 public:
  ServerTraining(World& world, const Team& team, const Options& options,
                 const optim::OptimizerOptions& optimizer, Replica& replica);

  Task<> begin() override;
  Task<int64_t> step(const StepInfo& info) override;
  Task<> settle() override { return beside_server(rest()); }
  Task<> agree() override;
  Task<> collect() override;
  Task<> ask_servers(Command what) override;
  Task<> end() override;
  std::map<int64_t, int64_t> staleness() const override;
  int64_t dropped() const override { return report_.dropped; }
  int64_t updates() const override;
  double counted() const override { return counted_; }

 private:
  using Over = std::shared_ptr<world::Event>;
  /// What a piece needs on its way.
  struct Lane {
    Piece piece;
    uint32_t round = 0;
    int64_t version = 0;                  ///< of the weights that came last
    bool late = false;                    ///< the gradient before them did not count
    int after = -1;                       ///< goes when this one was answered; -1: at once
    std::shared_ptr<world::Event> heard;  ///< the answer to this step's gradient
    std::optional<Residue> residue;
    std::vector<uint16_t> packed;
  };

  /// What ended first: what a worker does, or, by a failure, its own server.
  struct Race {
    world::Event over;
    std::exception_ptr error;
  };
  static Task<> run(Race& race, Task<> task);
  static Task<> watch(Race& race, world::Started& server);
  Task<> beside_server(Task<> task);

  void follow_each_other();
  Task<> start();
  Task<> pass(const StepInfo& info, int64_t& taken);
  Task<> rest();
  Task<> refresh_all();
  Task<> collect_kept();
  Task<> stop();
  Task<> bring(int bucket, StepInfo info, Over over);
  Task<> exchange(int id, StepInfo info, Over over);
  Task<> push(int id, const StepInfo& info, uint32_t round);
  Task<> hear(int id, uint32_t round);
  Task<> pull(int id, uint32_t round, bool exact);
  Task<> refresh(int id);
  Task<> send_arenas();
  Task<> stop_servers();
  Task<> update_clipped(StepInfo info);
  Rank server_of(const Piece& piece) const { return team_.server_rank(piece.server); }

  World& world_;
  const Team team_;
  const Options options_;
  Replica& replica_;
  const collective::Group workers_;
  const int servers_;
  std::vector<Lane> lanes_;
  std::vector<std::vector<int>> lanes_of_bucket_;
  uint32_t commands_ = 0;
  int64_t agreements_ = 0;
  double counted_ = 1;
  Arrivals arrivals_;
  std::optional<Server> own_;  // in a worker that serves
  world::Started serving_;
  Report report_;
};

}  // namespace syrtos::strategy

#pragma once

#include <memory>
#include <optional>

#include "syrtos/collective/collective.h"
#include "syrtos/strategy/arrivals.h"
#include "syrtos/strategy/servers/client.h"
#include "syrtos/strategy/servers/commands.h"
#include "syrtos/strategy/servers/own_server.h"

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
///     receive the answer that it was taken
///     when the pass is over, which still reads the weights: pull the new ones
///     (--update worker: pull the mean gradient and update)
class ServerTraining final : public Strategy {
 public:
  ServerTraining(World& world, const Team& team, const Options& options,
                 const optim::OptimizerOptions& optimizer, Replica& replica);

  Task<> begin() override;
  Task<int64_t> step(const StepInfo& info) override;
  Task<> settle() override { return beside_server(settle_all()); }
  Task<> agree() override;
  Task<> collect() override;
  Task<> ask_servers(Command what) override { return commands_.ask(what); }
  Task<> end() override { return beside_server(stop()); }
  std::map<int64_t, int64_t> staleness() const override;
  int64_t dropped() const override { return report_.dropped; }
  int64_t updates() const override;
  double counted() const override { return counted_; }

 private:
  using Over = std::shared_ptr<world::Event>;

  void limit_pieces_underway();
  Task<> beside_server(Task<> task);
  Task<> start();
  Task<> pass(const StepInfo& info, int64_t& taken);
  Task<> bring(int bucket, StepInfo info, Over over);
  Task<> exchange(int id, StepInfo info, Over over);
  Task<> use(const Piece& piece, const StepInfo& info);
  Task<> update_clipped(StepInfo info);
  int64_t catch_up(int64_t step);
  Task<> settle_all();
  Task<> pull_agreed_weights();
  Task<> stop();

  World& world_;
  const Team team_;
  const Options options_;
  Replica& replica_;
  const collective::Group workers_;
  ServerClient client_;
  ServerCommands commands_;
  std::vector<std::vector<int>> pieces_of_bucket_;
  std::vector<int> after_;      // of each piece: goes when this one was answered; -1: at once
  std::vector<Over> answered_;  // of each piece: its gradient of this step
  int64_t agreements_ = 0;
  double counted_ = 1;
  Arrivals arrivals_;
  std::optional<OwnServer> own_;  // in a worker that serves
  Report report_;
};

}  // namespace syrtos::strategy

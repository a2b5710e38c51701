#pragma once

#include <optional>

#include "syrtos/job/job.h"
#include "syrtos/strategy/servers/server.h"
#include "syrtos/train/measure/accounting.h"
#include "syrtos/train/measure/measuring_cost.h"
#include "syrtos/train/measure/own_measures.h"
#include "syrtos/train/measure/run_trace.h"

namespace syrtos::train {

using job::TraceSteps;

using job::Job;

/// What a rank needs to know that is nothing but a server.
struct ServerJob {
  strategy::Team team;
  strategy::Options options;
  optim::OptimizerOptions optimizer;
  double sample_seconds = 0;
  TraceSteps trace;
};
ServerJob server_job(const Job& job);

/// Serves until rank 0 says stop. The server measures itself as workers do: its time is divided
/// into update, network (gradients arrive and are added as they land, weights leave), checkpoint
/// and wait: for workers. A step is over when the first gradient of the next one comes.
world::Task<> serve(world::World& world, ServerJob job);

/// For serve().
class ServerWork final : public strategy::ServerObserver {
 public:
  ServerWork(world::World& world, const ServerJob& job);

  strategy::Meter& meter() override { return meter_; }
  void step(int64_t number) override;
  world::Task<> tell(strategy::Command what) override;

 private:
  std::string measures();

  world::World& world_;
  const WorldClock clock_;
  Clocks clocks_;
  OwnMeasures own_;
  const MeasuringCost cost_ = MeasuringCost::measure();
  std::optional<RunTrace> trace_;
  strategy::Meter meter_;
  const strategy::Meter::Doing waits_;    // for workers, unless it does something
  std::optional<Accounting> accounting_;  // since the first step
  int64_t step_ = 0;
  uint32_t told_ = 0;
};

}  // namespace syrtos::train

#include "syrtos/train/measure/measuring.h"

namespace syrtos::train {

Measuring::Measuring(TeamWork& team, WorkerMeetings& meetings, const Job& job,
                     const TrainerOptions& options, double made_at, const CompiledNetwork& network,
                     Earlier earlier, Notebook* notebook, const run::Directory* directory,
                     RunTrace* trace, int64_t steps_done)
    : team_(team),
      meetings_(meetings),
      tolerates_losses_(job.strategy.tolerates_losses()),
      notebook_(notebook),
      directory_(directory),
      trace_(trace),
      accounting_(team.meter(), team.world(), steps_done),
      measures_(team, network, job, options, made_at, std::move(earlier), notebook, steps_done),
      news_(team, measures_, accounting_, notebook, directory) {
  if (trace_ != nullptr) trace_->connect(team_.meter(), team_.replica().profile());
}

void Measuring::begin_step(int64_t step, int64_t queue) {
  if (trace_ != nullptr) trace_->begin_step(step, queue);
}

void Measuring::look_for_lost(int64_t steps_done) {
  if (directory_ != nullptr && tolerates_losses_) measures_.look_for_lost(*directory_, steps_done);
}

Task<> Measuring::gather(int64_t steps_done) {
  accounting_.close();
  World& world = team_.world();
  const double before = world.now();
  const int64_t events = trace_ != nullptr ? trace_->events() : 0;
  std::string mine = measures_.own_text(accounting_.log(), events);
  std::vector<std::string> texts = co_await meetings_.gather(std::move(mine));
  if (directory_ == nullptr) co_return;
  news_.add_received();  // it is older
  look_for_lost(steps_done);
  const auto servers = co_await team_.hear_servers(strategy::Command::tell_measures);
  texts.insert(texts.end(), servers.begin(), servers.end());
  const Meter::Doing writes(team_.meter(), Part::other);
  co_await world.compute(0, [&] { measures_.write(*directory_, texts, steps_done); });
  measures_.spent(world.now() - before);
}

Task<> Measuring::leave(int64_t steps_done) {
  if (directory_ == nullptr) co_return;
  measures_.steps_ended();
  accounting_.close();
  const std::string mine = measures_.own_text(accounting_.log(), 0);
  co_await team_.world().compute(0, [&] { measures_.write_alone(*directory_, mine, steps_done); });
  news_.forget();
}

Task<> Measuring::gather_trace() {
  std::string mine = trace_->own(team_.clocks().offsets(), measures_.own().curves());
  std::vector<std::string> texts = co_await meetings_.gather(std::move(mine));
  if (directory_ == nullptr) co_return;
  const auto servers = co_await team_.hear_servers(strategy::Command::tell_trace);
  texts.insert(texts.end(), servers.begin(), servers.end());
  co_await team_.world().compute(0, [&] {
    notebook_->write_here(run::name_of(run::File::trace),
                          [&] { RunTrace::write(directory_->to_write(run::File::trace), texts); });
  });
}

Task<> Measuring::end(int64_t steps_done) {
  measures_.steps_ended();
  co_await news_.end();
  co_await gather(steps_done);
  if (directory_ != nullptr) news_.forget();
  if (trace_ != nullptr) co_await gather_trace();
  steps_done_ = steps_done;
}

void Measuring::end_exchange() {
  if (directory_ == nullptr) return;
  measures_.write_exchange(*directory_);
  measures_.write_parts(*directory_, steps_done_);  // with what the end took
}

}  // namespace syrtos::train

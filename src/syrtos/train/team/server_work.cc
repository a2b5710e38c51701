#include "syrtos/train/team/server_work.h"

#include "syrtos/strategy/text.h"
#include "syrtos/train/team/team_work.h"

namespace syrtos::train {

using strategy::Command;

ServerJob server_job(const Job& job) {
  return {team_of(job), job.strategy, job.optimizer, job.sample_seconds, job.trace};
}

Task<> serve(World& world, ServerJob job) {
  ServerWork work(world, job);
  co_await strategy::serve(world, job.team, job.options, job.optimizer, &work);
}

ServerWork::ServerWork(World& world, const ServerJob& job)
    : world_(world),
      clock_(world),
      clocks_(world, clock_, false),
      own_(world, clocks_, job.sample_seconds, 0),
      meter_(world),
      waits_(meter_, Part::wait) {
  if (!job.trace.any()) return;
  trace_.emplace(world, job.trace);
  trace_->connect(meter_);
}

void ServerWork::step(int64_t number) {
  if (accounting_) {
    accounting_->end_step(number - 1);
  } else {
    accounting_.emplace(meter_, world_, number - 1);
  }
  step_ = number;
  if (trace_) trace_->begin_step(number);
}

std::string ServerWork::measures() {
  const double took = cost_.seconds(meter_.looks(), trace_ ? trace_->events() : 0);
  if (!accounting_) return own_.text(trace::DivisionLog(world_.rank()), took);
  accounting_->end_step(step_);
  accounting_->close();
  return own_.text(accounting_->log(), took);
}

Task<> ServerWork::tell(Command what) {
  const Meter::Doing tells(meter_, Part::other);
  const std::vector<world::Rank> nobody;
  co_await clocks_.align(nobody);
  std::string text;
  if (what == Command::tell_trace) {
    if (trace_) text = trace_->own(clocks_.offsets(), own_.curves());
  } else {
    text = measures();
  }
  co_await strategy::send_text(world_, 0, strategy::told_tag(told_++), text);
}

}  // namespace syrtos::train

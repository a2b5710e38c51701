#include "syrtos/world/sim/processor.h"

#include <algorithm>

#include "syrtos/base/error.h"

namespace syrtos::world {

void Job::fire() {
  processor_->remove(*this);
  done();
}

Processor::Processor(const SimHost& host, Network& network, TimerHeap& events, const double& now)
    : network_(network),
      events_(events),
      now_(now),
      cores_(host.cores),
      link_(network.add_link(host.cores)) {}

void Processor::start(Job& job, double seconds, double cores) {
  SYRTOS_CHECK(!job.active());
  job.processor_ = this;
  job.cores_ = cores;
  job.left_ = seconds;
  job.rate_ = 0;
  job.since_ = job.began_ = now_;
  jobs_.push_back(&job);
  limit_flows();
}

void Processor::stop(Job& job) {
  if (!job.active()) return;
  job.Timer::stop();
  remove(job);
}

void Processor::remove(Job& job) {
  busy_seconds_ += now_ - job.began_;
  job.processor_ = nullptr;
  std::erase(jobs_, &job);
  limit_flows();
}

void Processor::moving(int change) {
  moving_ += change;
  limit_flows();
}

void Processor::limit_flows() {
  computing_ = 0;
  for (const Job* job : jobs_) computing_ += job->cores_;
  const double movers = std::max(1, moving_);
  const double share = cores_ * movers / (movers + computing_);
  network_.set_capacity(link_, std::max(share, cores_ - computing_));
}

void Processor::settle() {
  if (jobs_.empty()) return;
  const double rate = std::min(1.0, (cores_ - network_.load(link_)) / computing_);
  for (Job* job : jobs_) {
    if (rate == job->rate_) continue;
    job->left_ = std::max(0.0, job->left_ - job->rate_ * (now_ - job->since_));
    job->since_ = now_;
    job->rate_ = rate;
    events_.start(*job, now_ + job->left_ / rate);
  }
}

}  // namespace syrtos::world

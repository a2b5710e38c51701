#include "syrtos/world/sim/processor.h"

#include <algorithm>

#include "syrtos/base/error.h"

namespace syrtos::world {

void Load::fire() {
  processor_->remove(*this);
  done();
}

Processor::Processor(const SimHost& host, Network& network, TimerHeap& events, const double& now)
    : network_(network),
      events_(events),
      now_(now),
      cores_(host.cores),
      link_(network.add_link(host.cores)) {}

void Processor::start(Load& load, double seconds, double cores) {
  SYRTOS_CHECK(!load.active());
  load.processor_ = this;
  load.cores_ = cores;
  load.left_ = seconds;
  load.rate_ = 0;
  load.since_ = load.began_ = now_;
  loads_.push_back(&load);
  limit_flows();
}

void Processor::stop(Load& load) {
  if (!load.active()) return;
  load.Timer::stop();
  remove(load);
}

void Processor::remove(Load& load) {
  busy_seconds_ += now_ - load.began_;
  load.processor_ = nullptr;
  std::erase(loads_, &load);
  limit_flows();
}

void Processor::moving(int change) {
  moving_ += change;
  limit_flows();
}

void Processor::limit_flows() {
  computing_ = 0;
  for (const Load* load : loads_) computing_ += load->cores_;
  const double movers = std::max(1, moving_);
  const double share = cores_ * movers / (movers + computing_);
  network_.set_capacity(link_, std::max(share, cores_ - computing_));
}

void Processor::settle() {
  if (loads_.empty()) return;
  const double rate = std::min(1.0, (cores_ - network_.load(link_)) / computing_);
  for (Load* load : loads_) {
    if (rate == load->rate_) continue;
    load->left_ = std::max(0.0, load->left_ - load->rate_ * (now_ - load->since_));
    load->since_ = now_;
    load->rate_ = rate;
    events_.start(*load, now_ + load->left_ / rate);
  }
}

}  // namespace syrtos::world

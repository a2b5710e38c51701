#include "syrtos/world/sim/network.h"

#include <algorithm>
#include <limits>

#include "syrtos/base/error.h"

namespace syrtos::world {

void Flow::pass(int link, double cost) {
  SYRTOS_CHECK(hops_ < kMostHops && cost > 0);
  path_[hops_++] = {link, 0, cost};
}

void Flow::fire() {
  left_ = 0;
  since_ = network_.now_;
  network_.remove(*this);
  sent();
}

int Network::add_link(double capacity) {
  links_.push_back({.capacity = capacity});
  return static_cast<int>(links_.size()) - 1;
}

void Network::set_capacity(int index, double capacity) {
  link(index).capacity = capacity;
  touch(index);
}

void Network::touch(int index) {
  if (link(index).touched) return;
  link(index).touched = true;
  touched_.push_back(index);
}

void Network::start(Flow& flow, double bytes) {
  SYRTOS_CHECK(!flow.flowing_);
  flow.flowing_ = true;
  flow.left_ = bytes;
  flow.rate_ = 0;
  flow.since_ = now_;
  for (uint32_t hop = 0; hop < flow.hops_; ++hop) {
    auto& [index, place, cost] = flow.path_[hop];
    Link& on = link(index);
    place = static_cast<uint32_t>(on.flows.size());
    on.flows.push_back({&flow, hop});
    on.used += cost * bytes;
    touch(index);
  }
}

double Network::left(const Flow& flow) const {
  return std::max(0.0, flow.left_ - flow.rate_ * (now_ - flow.since_));
}

double Network::stop(Flow& flow) {
  flow.left_ = left(flow);
  flow.stop();
  return remove(flow);
}

double Network::remove(Flow& flow) {
  flow.flowing_ = false;
  for (uint32_t hop = 0; hop < flow.hops_; ++hop) {
    const auto& [index, place, cost] = flow.path_[hop];
    Link& on = link(index);
    const Crossing last = on.flows.back();
    on.flows[place] = last;
    last.flow->path_[last.hop].place = place;
    on.flows.pop_back();
    on.used -= cost * flow.left_;
    touch(index);
  }
  return flow.left_;
}

double Network::load(int index) const {
  double sum = 0;
  for (const auto& [flow, hop] : links_[static_cast<size_t>(index)].flows) {
    sum += flow->path_[hop].cost * flow->rate_;
  }
  return sum;
}

void Network::clear() {
  for (Link& link : links_) {
    while (!link.flows.empty()) stop(*link.flows.back().flow);
    link.touched = false;
  }
  touched_.clear();
  renewed_.clear();
}

void Network::settle() {
  ++round_;
  renewed_.clear();
  for (const int index : touched_) {
    Link& first = link(index);
    first.touched = false;
    if (first.seen == round_) continue;
    if (first.flows.empty()) {
      first.seen = round_;
      renewed_.push_back(index);
    } else if (alone(*first.flows.front().flow)) {
      set_alone(*first.flows.front().flow);
    } else {
      gather(index);
      share();
    }
  }
  touched_.clear();
}

/// Most flows of a well-planned exchange have their links to themselves.
bool Network::alone(const Flow& flow) {
  for (uint32_t hop = 0; hop < flow.hops_; ++hop) {
    if (link(flow.path_[hop].link).flows.size() != 1) return false;
  }
  return true;
}

void Network::set_alone(Flow& flow) {
  double rate = std::numeric_limits<double>::infinity();
  for (uint32_t hop = 0; hop < flow.hops_; ++hop) {
    Link& on = link(flow.path_[hop].link);
    on.seen = round_;
    renewed_.push_back(flow.path_[hop].link);
    rate = std::min(rate, on.capacity / flow.path_[hop].cost);
  }
  fix(flow, rate);
}

/// The links and flows that are connected to a link.
void Network::gather(int first) {
  part_links_.assign(1, first);
  part_flows_.clear();
  link(first).seen = round_;
  for (size_t i = 0; i < part_links_.size(); ++i) {
    Link& at = link(part_links_[i]);
    at.left = at.capacity;
    at.cost = 0;
    at.unknown = static_cast<uint32_t>(at.flows.size());
    for (const auto& [flow, hop] : at.flows) {
      at.cost += flow->path_[hop].cost * flow->weight_;
      if (flow->seen_ == round_) continue;
      flow->seen_ = round_;
      flow->fixed_ = false;
      part_flows_.push_back(flow);
      for (uint32_t h = 0; h < flow->hops_; ++h) {
        Link& next = link(flow->path_[h].link);
        if (next.seen == round_) continue;
        next.seen = round_;
        part_links_.push_back(flow->path_[h].link);
      }
    }
  }
  renewed_.insert(renewed_.end(), part_links_.begin(), part_links_.end());
}

/// Progressive filling: the link with the smallest equal share fixes the rates of its flows; what
/// they use is taken off their other links, whose shares can only grow by that.
void Network::share() {
  shares_.clear();
  for (const int index : part_links_) {
    const Link& at = link(index);
    if (at.unknown > 0) shares_.push_back({at.left / at.cost, index});
  }
  std::make_heap(shares_.begin(), shares_.end());
  while (!shares_.empty()) {
    std::pop_heap(shares_.begin(), shares_.end());
    const auto [rate, index] = shares_.back();
    shares_.pop_back();
    Link& least = link(index);
    if (least.unknown == 0) continue;
    const double current = least.left / least.cost;
    if (current > rate) {
      shares_.push_back({current, index});
      std::push_heap(shares_.begin(), shares_.end());
      continue;
    }
    for (const auto& [flow, hop] : least.flows) {
      if (flow->fixed_) continue;
      flow->fixed_ = true;
      const double own = current * flow->weight_;
      for (uint32_t h = 0; h < flow->hops_; ++h) {
        Link& on = link(flow->path_[h].link);
        on.left = std::max(0.0, on.left - flow->path_[h].cost * own);
        on.cost -= flow->path_[h].cost * flow->weight_;
        --on.unknown;
      }
      fix(*flow, own);
    }
  }
}

/// A rate that stays as it was keeps its end, without a rounding error.
void Network::fix(Flow& flow, double rate) {
  if (rate == flow.rate_) return;
  flow.left_ = left(flow);
  flow.since_ = now_;
  flow.rate_ = rate;
  if (rate > 0) {
    events_.start(flow, now_ + flow.left_ / rate);
  } else {
    flow.stop();
  }
}

}  // namespace syrtos::world

#include "syrtos/strategy/meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace syrtos::strategy {

void Stretches::add(Stretch stretch) {
  while (!stretches_.empty() && stretches_.back().end >= stretch.start) {
    stretch.start = std::min(stretch.start, stretches_.back().start);
    stretch.end = std::max(stretch.end, stretches_.back().end);
    stretches_.pop_back();
  }
  stretches_.push_back(stretch);
}

void Stretches::forget_before(double time) {
  const auto kept = std::find_if(stretches_.begin(), stretches_.end(),
                                 [&](const Stretch& one) { return one.end > time; });
  stretches_.erase(stretches_.begin(), kept);
}

double Stretches::overlap(const Stretch& stretch) const {
  double sum = 0;
  for (const Stretch& one : stretches_) {
    sum += std::max(0.0, std::min(one.end, stretch.end) - std::max(one.start, stretch.start));
  }
  return sum;
}

Meter::Doing::Doing(Meter& meter, Part part) : meter_(meter), part_(part) {
  meter_.tick();
  const bool waits = part == Part::network || part == Part::wait || part == Part::bubble;
  (waits ? meter_.waiting_ : meter_.computing_).push_back(this);
  if (meter_.doing_track_ != nullptr) began_ = trace::now();
}

Meter::Doing::~Doing() {
  meter_.tick();
  flush();
  const bool was_first = !meter_.computing_.empty() && meter_.computing_.front() == this;
  std::erase(meter_.computing_, this);
  std::erase(meter_.waiting_, this);
  // Forward comes first in a piece that is both.
  if (meter_.doing_track_ != nullptr && began_ > 0) {
    const int64_t now = trace::now();
    // What stood in line begins only now.
    if (was_first && !meter_.computing_.empty()) meter_.computing_.front()->began_ = now;
    const auto record = [&](Part part, int64_t from, int64_t to) {
      if (to > from) meter_.doing_track_->span(meter_.pass_name(part, micro_), from, to);
    };
    const auto middle = began_ + static_cast<int64_t>(forward_ * static_cast<double>(now - began_));
    if (!divided_) {
      record(part_, began_, now);
    } else {
      record(Part::forward, began_, middle);
      record(Part::backward, middle, now);
    }
  }
}

void Meter::Doing::flush() {
  const double spent = std::exchange(spent_, 0);
  trace::StepDivision& division = meter_.measured_.division;
  if (divided_) {
    division[Part::forward] += forward_ * spent;
    division[Part::backward] += (1 - forward_) * spent;
  } else {
    division[part_] += spent;
  }
}

Meter::Crossing::Crossing(Meter& meter, int bucket) : meter_(meter), bucket_(bucket) {
  meter_.tick();
  ++meter_.crossing_;
  if (meter_.crossing_track_ != nullptr) began_ = trace::now();
}

Meter::Crossing::~Crossing() {
  meter_.tick();
  --meter_.crossing_;
  meter_.bucket(bucket_);
  meter_.started_[static_cast<size_t>(bucket_)].arrived = meter_.last_;
  if (meter_.crossing_track_ != nullptr && began_ > 0) {
    meter_.crossing_track_->span(meter_.bucket_name(bucket_), began_, trace::now(),
                                 {{meter_.bucket_key_, int64_t{bucket_}}});
  }
}

Meter::Bucket& Meter::bucket(int number) {
  const auto index = static_cast<size_t>(number);
  if (index >= buckets_.size()) {
    buckets_.resize(index + 1);
    started_.resize(index + 1);
  }
  return buckets_[index];
}

/// Only while it records.
trace::Name Meter::bucket_name(int number) {
  for (auto i = static_cast<int>(bucket_names_.size()); i <= number; ++i) {
    bucket_names_.push_back(trace::name_of(recorder_, fmt::format("bucket {}", i), "network"));
  }
  return bucket_names_[static_cast<size_t>(number)];
}

/// "forward", or "forward 3" of the third micro-batch.
trace::Name Meter::pass_name(Part part, std::optional<int> micro) {
  if (!micro) return part_names_[static_cast<size_t>(part)];
  const auto [found, is_new] = micro_names_.try_emplace({part, *micro});
  if (is_new) {
    const std::string_view name = trace::kPartNames[static_cast<size_t>(part)];
    found->second = trace::name_of(recorder_, fmt::format("{} {}", name, *micro + 1), "part");
  }
  return found->second;
}

void Meter::bucket_ready(int number) {
  Bucket& sums = bucket(number);
  Started& started = started_[static_cast<size_t>(number)];
  sums.ready += world_.now() - step_;
  ++sums.times;
  // What crossed since the last time; the last exchange of all is left out of the mean.
  if (started.arrived > 0) {
    sums.arrived += started.arrived - started.step;
    ++sums.arrivals;
  }
  started = {step_, 0};
}

void Meter::bucket_exposed(int number, double seconds) { bucket(number).exposed += seconds; }

void Meter::tick() {
  ++looks_;
  const double before = last_;
  last_ = world_.now();
  const double passed = last_ - before;
  if (passed <= 0) return;
  if (!computing_.empty()) {
    computing_.front()->spent_ += passed;
    if (crossing_ > 0) measured_.division.hidden_network += passed;
    return;
  }
  const Part part = waiting_.empty() ? Part::other : waiting_.back()->part_;
  measured_.division[part] += passed;
  if (part != Part::network) return;
  network_ += passed;
  if (!measured_.exposed.empty() && measured_.exposed.back().end == before) {
    measured_.exposed.back().end = last_;
  } else {
    measured_.exposed.push_back({before, last_});
  }
}

void Meter::divide_network(Measured& measured) const {
  double wait = 0;
  for (const Stretch& stretch : measured.exposed) wait += others_.overlap(stretch);
  wait = std::min(wait, measured.division[Part::network]);
  measured.division[Part::wait] += wait;
  measured.division[Part::network] -= wait;
  measured.exposed.clear();
}

Measured Meter::take_more() {
  tick();
  for (Doing* doing : computing_) doing->flush();
  measured_.start = std::exchange(start_, last_);
  return std::exchange(measured_, {});
}

Measured Meter::take() {
  Measured measured = take_more();
  step_ = last_;
  return measured;
}

void Meter::record(trace::Recorder* recorder, const char* track) {
  doing_track_ = trace::track_of(recorder, track);
  crossing_track_ = trace::track_of(recorder, "exchange");
  for (size_t i = 0; i < trace::kParts; ++i) {
    part_names_[i] = trace::name_of(recorder, trace::kPartNames[i], "part");
  }
  recorder_ = recorder;
  bucket_names_.clear();
  micro_names_.clear();
  bucket_key_ = trace::name_of(recorder, "bucket");
}

}  // namespace syrtos::strategy

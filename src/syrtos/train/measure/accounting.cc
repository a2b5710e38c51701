#include "syrtos/train/measure/accounting.h"

#include <utility>

namespace syrtos::train {

using strategy::Measured;
using trace::Part;
using trace::StepDivision;

Accounting::Accounting(strategy::Meter& meter, const world::World& world, int64_t steps_done)
    : meter_(meter), clock_(world), log_(world.rank()), steps_done_(steps_done) {
  meter_.take();
}

void Accounting::end_step(int64_t steps_done) {
  if (steps_done == steps_done_) return;  // a run that goes on begins with the end of an epoch
  Measured measured = meter_.take();
  close();
  last_ = Step{steps_done_ + 1, std::move(measured), false, {}};
  steps_done_ = steps_done;
}

void Accounting::end_pause() {
  Measured measured = meter_.take();
  epoch_[Part::checkpoint] += measured.division[Part::checkpoint];
  if (!last_) return;
  last_->pauses.division += measured.division;
  last_->pauses.exposed.insert(last_->pauses.exposed.end(), measured.exposed.begin(),
                               measured.exposed.end());
}

void Accounting::close() {
  if (!last_) return;
  meter_.divide_network(last_->itself);
  meter_.divide_network(last_->pauses);
  if (!last_->taken) epoch_ += last_->itself.division;
  StepDivision all = last_->itself.division;
  all += last_->pauses.division;
  log_.add(last_->number, clock_.steady(last_->itself.start), all);
  const trace::DivisionRecord record = trace::record_of_step(last_->number, 0, all);
  if (recent_) {
    *recent_ += record;
  } else {
    recent_ = record;
  }
  meter_.forget_before(last_->itself.start);
  last_.reset();
}

StepDivision Accounting::take_epoch() {
  if (last_ && !last_->taken) {
    Measured copy = last_->itself;
    meter_.divide_network(copy);
    epoch_ += copy.division;
    last_->taken = true;
  }
  return std::exchange(epoch_, {});
}

}  // namespace syrtos::train

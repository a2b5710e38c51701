#include "syrtos/strategy/part_messages.h"

#include <algorithm>

#include "syrtos/world/world.h"

namespace syrtos::strategy {

using world::Started;
using world::Task;

PartMessages::Prepared PartMessages::prepared(const std::vector<Stage>& stages) const {
  Prepared made;
  std::map<Place, Coming*> last;
  for (const Stage& stage : stages) {
    std::vector<Coming*>& arrives = made.arrives.emplace_back();
    for (const PartMessage& message : stage.arrives) {
      Coming& coming = made.coming.emplace_back();
      coming.message = &message;
      arrives.push_back(&coming);
      Coming*& before = last[{message.lane, message.buffer}];
      if (before == nullptr) {
        made.first.push_back(&coming);
      } else {
        before->next = &coming;
      }
      before = &coming;
    }
  }
  return made;
}

void PartMessages::begin(const std::vector<Stage>& stages, int64_t step) {
  stages_ = &stages;
  auto known = prepared_.find(&stages);
  if (known == prepared_.end()) known = prepared_.emplace(&stages, prepared(stages)).first;
  pass_ = &known->second;
  round_ = static_cast<uint32_t>(step);
  for (Coming* coming : pass_->first) receive(*coming);
}

void PartMessages::receive(Coming& coming) {
  coming.since = world::Patience::kForever;
  coming.task = Started(world_, receive_message(coming));
}

Task<> PartMessages::receive_message(const Coming& coming) {
  const PartMessage& message = *coming.message;
  const world::Tag tag{world::Purpose::activations, message.lane, round_, kind_};
  co_await world_.recv(ranks_[static_cast<size_t>(message.part)], tag,
                       {message.memory, message.bytes}, {.since = &coming.since});
}

Task<> PartMessages::send(const PartMessage& message, const double& since) {
  const world::Tag tag{world::Purpose::activations, message.lane, round_, kind_};
  constexpr int kUrgent = 1 << 20;  // computing waits for it
  co_await world_.send(ranks_[static_cast<size_t>(message.part)], tag,
                       {message.memory, message.bytes}, kUrgent, {.since = &since});
}

Task<> PartMessages::join(const Started& task, double& since) {
  since = world_.now();
  co_await task.join();
}

bool PartMessages::ready(size_t stage) const {
  // One that failed is for wait() to tell.
  const auto succeeded = [](const Started& task) {
    return task.valid() && task.done() && !task.error();
  };
  const auto& arrives = pass_->arrives[stage];
  const auto& leaves = (*stages_)[stage].leaves;
  return std::all_of(arrives.begin(), arrives.end(),
                     [&](const Coming* coming) { return succeeded(coming->task); }) &&
         std::all_of(leaves.begin(), leaves.end(), [&](const PartMessage& message) {
           const auto left = leaving_.find({message.lane, message.buffer});
           return left == leaving_.end() || succeeded(left->second.task);
         });
}

Task<> PartMessages::wait(size_t stage) {
  for (Coming* coming : pass_->arrives[stage]) {
    // Its buffer's last message was for a stage before this one, so it is on its way.
    SYRTOS_CHECK(coming->task.valid(), "stage {}", stage);
    const Meter::Doing waits(meter_, Part::bubble);
    co_await join(coming->task, coming->since);
  }
  for (const PartMessage& message : (*stages_)[stage].leaves) {
    const auto left = leaving_.find({message.lane, message.buffer});
    if (left == leaving_.end()) continue;
    const Meter::Doing waits(meter_, Part::network);
    co_await join(left->second.task, left->second.since);
  }
}

void PartMessages::ran(size_t stage) {
  for (Coming* coming : pass_->arrives[stage]) {
    coming->task.cancel();
    if (coming->next != nullptr) receive(*coming->next);
  }
  for (const PartMessage& message : (*stages_)[stage].leaves) {
    Leaving& leaving = leaving_[{message.lane, message.buffer}];
    leaving.since = world::Patience::kForever;
    leaving.task = Started(world_, send(message, leaving.since));
  }
}

Task<> PartMessages::settle() {
  for (auto& [place, leaving] : leaving_) co_await join(leaving.task, leaving.since);
}

}  // namespace syrtos::strategy

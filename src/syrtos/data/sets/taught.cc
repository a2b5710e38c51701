#include "syrtos/data/sets/taught.h"

#include "syrtos/base/error.h"

namespace syrtos::data {

namespace {
constexpr int32_t kNobodyKnows = -1;
}  // namespace

WithUnlabelled::WithUnlabelled(std::shared_ptr<const Dataset> labelled,
                               std::shared_ptr<const Dataset> unlabelled)
    : labelled_(std::move(labelled)), unlabelled_(std::move(unlabelled)) {
  const DatasetInfo& other = unlabelled_->info();
  info_ = labelled_->info();
  if (other.shape() != info_.shape() || other.dtype != info_.dtype) {
    fail_request("{}: expected samples of {} in {}, as {} has, found {} in {}", other.name,
                 to_string(info_.shape()), to_string(info_.dtype), info_.name,
                 to_string(other.shape()), to_string(other.dtype));
  }
  info_.size += other.size;
}

Target WithUnlabelled::target(int64_t index) const {
  return index < labelled_->size() ? labelled_->target(index) : Target{.label = kNobodyKnows};
}

Sample WithUnlabelled::read(int64_t index, Scratch& scratch) const {
  if (index < labelled_->size()) return labelled_->read(index, scratch);
  Sample sample = unlabelled_->read(index - labelled_->size(), scratch);
  sample.target = {.label = kNobodyKnows};
  return sample;
}

std::span<const uint8_t> WithUnlabelled::encoded(int64_t index, Scratch& scratch) const {
  return index < labelled_->size() ? labelled_->encoded(index, scratch)
                                   : unlabelled_->encoded(index - labelled_->size(), scratch);
}

void WithUnlabelled::check() const {
  labelled_->check();
  unlabelled_->check();
}

Answered::Answered(std::shared_ptr<const Dataset> of, std::vector<float> answers)
    : of_(std::move(of)),
      answers_(std::move(answers)),
      each_(answers_.size() / static_cast<size_t>(of_->size())) {
  info_ = of_->info();
  SYRTOS_CHECK(each_ * static_cast<size_t>(of_->size()) == answers_.size(), "{} for {}",
               answers_.size(), of_->size());
}

Target Answered::with_answer(Target target, int64_t index) const {
  target.taught = std::span(answers_).subspan(static_cast<size_t>(index) * each_, each_);
  return target;
}

Sample Answered::read(int64_t index, Scratch& scratch) const {
  Sample sample = of_->read(index, scratch);
  sample.target = with_answer(sample.target, index);
  return sample;
}

}  // namespace syrtos::data

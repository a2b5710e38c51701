#include "syrtos/data/sets/split.h"

#include <algorithm>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/data/pipeline/permutation.h"

namespace syrtos::data {

namespace {
constexpr uint64_t kSplits = 0x73706c6974730000;  // not the order in which a run takes samples
/// What is divided by itself: each class, where reading all labels costs nothing.
size_t groups_of(const DatasetInfo& info) {
  return info.asks_samples ? 1 : std::max<size_t>(1, info.classes.size());
}

/// What reading the data had to decide, which may be what is wrong.
std::string notes_text(const DatasetInfo& info) {
  std::string text;
  for (const std::string& note : info.notes) text += note + "; ";
  return text;
}

}  // namespace

Subset::Subset(std::shared_ptr<const Dataset> whole, std::vector<int64_t> indices)
    : whole_(std::move(whole)), indices_(std::move(indices)) {
  info_ = whole_->info();
  info_.size = static_cast<int64_t>(indices_.size());
}

Splits split_every_tenth(std::shared_ptr<const Dataset> whole) {
  constexpr int64_t kEvery = 10;
  std::vector<int64_t> train;
  std::vector<int64_t> test;
  std::vector<int64_t> seen(groups_of(whole->info()));
  for (int64_t i = 0; i < whole->size(); ++i) {
    const int64_t nth = ++seen[seen.size() == 1 ? 0 : static_cast<size_t>(whole->label(i))];
    (nth % kEvery == 0 ? test : train).push_back(i);
  }
  if (test.empty()) {
    const DatasetInfo& info = whole->info();
    fail_request(
        "{}: without test data every tenth sample of a class is kept for testing: expected a class "
        "with at least {} samples, found {} samples of {} classes; {}give train and test data "
        "separately, or --validation with a share",
        info.name, kEvery, whole->size(), info.classes.size(), notes_text(info));
  }
  return {std::make_unique<Subset>(whole, std::move(train)),
          std::make_unique<Subset>(whole, std::move(test))};
}

Splits split_share(std::shared_ptr<const Dataset> whole, double share, uint64_t seed) {
  std::vector<std::vector<int64_t>> classes(groups_of(whole->info()));
  for (int64_t i = 0; i < whole->size(); ++i) {
    classes[classes.size() == 1 ? 0 : static_cast<size_t>(whole->label(i))].push_back(i);
  }
  std::vector<int64_t> train;
  std::vector<int64_t> kept;
  for (size_t k = 0; k < classes.size(); ++k) {
    const auto size = static_cast<int64_t>(classes[k].size());
    if (size == 0) continue;
    const int64_t wanted = std::llround(share * static_cast<double>(size));
    const int64_t count = size < 2 ? 0 : std::clamp<int64_t>(wanted, 1, size - 1);
    // The order of an "epoch" of this class, of a stream of its own.
    const Permutation order(size, seed ^ kSplits, static_cast<int64_t>(k));
    for (int64_t i = 0; i < size; ++i) {
      (i < count ? kept : train).push_back(classes[k][static_cast<size_t>(order[i])]);
    }
  }
  if (train.empty() || kept.empty()) {
    fail_request("{}: expected at least two samples of a class to divide, found {} samples",
                 whole->info().name, whole->size());
  }
  std::sort(train.begin(), train.end());
  std::sort(kept.begin(), kept.end());
  return {std::make_unique<Subset>(whole, std::move(train)),
          std::make_unique<Subset>(whole, std::move(kept))};
}

std::vector<std::string> numbered_classes(int64_t count) {
  std::vector<std::string> names;
  for (int64_t k = 0; k < count; ++k) names.push_back(std::to_string(k));
  return names;
}

}  // namespace syrtos::data

#include "syrtos/data/sets/split.h"

#include "syrtos/base/error.h"

namespace syrtos::data {

Subset::Subset(std::shared_ptr<const Dataset> whole, std::vector<int64_t> indices)
    : whole_(std::move(whole)), indices_(std::move(indices)) {
  info_ = whole_->info();
  info_.size = static_cast<int64_t>(indices_.size());
}

Splits split_every_tenth(std::shared_ptr<const Dataset> whole) {
  constexpr int64_t kEvery = 10;
  std::vector<int64_t> train;
  std::vector<int64_t> test;
  std::vector<int64_t> seen(whole->info().classes.size());
  for (int64_t i = 0; i < whole->size(); ++i) {
    const int64_t nth = ++seen[static_cast<size_t>(whole->label(i))];
    (nth % kEvery == 0 ? test : train).push_back(i);
  }
  if (test.empty()) {
    fail_request(
        "{}: without test data every tenth sample of a class is kept for testing: expected a class "
        "with at least {} samples, found none in {} samples; give train and test data separately",
        whole->info().name, kEvery, whole->size());
  }
  return {std::make_unique<Subset>(whole, std::move(train)),
          std::make_unique<Subset>(whole, std::move(test))};
}

std::vector<std::string> numbered_classes(int64_t count) {
  std::vector<std::string> names;
  for (int64_t k = 0; k < count; ++k) names.push_back(std::to_string(k));
  return names;
}

}  // namespace syrtos::data

#include "syrtos/data/sets/interleave.h"

#include <algorithm>
#include <set>

#include "syrtos/base/error.h"

namespace syrtos::data {

namespace {

struct PlaceInSet {
  size_t part = 0;
  int64_t index = 0;
};

class Interleaved : public Dataset {
 public:
  explicit Interleaved(std::vector<std::unique_ptr<Dataset>> parts) : parts_(std::move(parts)) {
    info_ = parts_.front()->info();
    make_stretches();
  }

  Target target(int64_t index) const override {
    const PlaceInSet place = find(index);
    return parts_[place.part]->target(place.index);
  }
  Sample read(int64_t index, Scratch& scratch) const override {
    const PlaceInSet place = find(index);
    return parts_[place.part]->read(place.index, scratch);
  }
  std::span<const uint8_t> encoded(int64_t index, Scratch& scratch) const override {
    const PlaceInSet place = find(index);
    return parts_[place.part]->encoded(place.index, scratch);
  }
  void check() const override {
    for (const auto& part : parts_) part->check();
  }

 private:
  /// Rounds in which the same parts take turns.
  struct Stretch {
    int64_t begin = 0;  ///< its first sample
    int64_t round = 0;  ///< index of that sample in its part
    std::vector<size_t> parts;
  };

  /// A stretch ends where the next longer part does.
  void make_stretches() {
    std::set<int64_t> sizes;
    for (const auto& part : parts_) sizes.insert(part->size());
    info_.size = 0;
    int64_t round = 0;
    for (const int64_t size : sizes) {
      if (size == round) continue;  // a part without samples
      Stretch stretch{.begin = info_.size, .round = round, .parts = {}};
      for (size_t k = 0; k < parts_.size(); ++k) {
        if (parts_[k]->size() >= size) stretch.parts.push_back(k);
      }
      info_.size += (size - round) * static_cast<int64_t>(stretch.parts.size());
      round = size;
      stretches_.push_back(std::move(stretch));
    }
  }

  PlaceInSet find(int64_t index) const {
    const auto next =
        std::upper_bound(stretches_.begin(), stretches_.end(), index,
                         [](int64_t value, const Stretch& s) { return value < s.begin; });
    const Stretch& stretch = *std::prev(next);
    const int64_t within = index - stretch.begin;
    const auto turns = static_cast<int64_t>(stretch.parts.size());
    return {stretch.parts[static_cast<size_t>(within % turns)], stretch.round + within / turns};
  }

  std::vector<std::unique_ptr<Dataset>> parts_;
  std::vector<Stretch> stretches_;
};

std::string sample_kind(const DatasetInfo& info) {
  return fmt::format(
      "{} {}", to_string(info.dtype),
      info.same_size() ? to_string(info.shape()) : fmt::format("with {} channels", info.channels));
}

/// "for class 3 expected 'cat', found 'dog'": the first in which two sets differ.
std::string difference(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  if (a.size() != b.size()) return fmt::format("expected {} classes, found {}", a.size(), b.size());
  const auto at = std::mismatch(a.begin(), a.end(), b.begin());
  return fmt::format("for class {} expected '{}', found '{}'", at.first - a.begin(), *at.first,
                     *at.second);
}

[[noreturn]] void fail_kinds(const DatasetInfo& first, const std::string& first_name,
                             const DatasetInfo& other, const std::string& other_name) {
  fail_request(
      "{} and {} do not belong together: expected samples {} in both, found {}; put them into "
      "different directories",
      first_name, other_name, sample_kind(first), sample_kind(other));
}

}  // namespace

void check_agreement(const DatasetInfo& first, const std::string& first_name,
                     const DatasetInfo& other, const std::string& other_name) {
  const bool sized = first.same_size() && other.same_size();
  if (first.dtype != other.dtype || first.channels != other.channels ||
      (sized && first.shape() != other.shape())) {
    fail_kinds(first, first_name, other, other_name);
  }
  if (first.targets.values != other.targets.values) {
    fail_request(
        "{} and {} do not belong together: expected {} values for each sample, found {}; put them "
        "into different directories",
        first_name, other_name, first.targets.values, other.targets.values);
  }
  if (first.classes != other.classes) {
    fail_request("{} and {} do not belong together: {}; put them into different directories",
                 first_name, other_name, difference(first.classes, other.classes));
  }
}

std::unique_ptr<Dataset> interleave(std::vector<std::unique_ptr<Dataset>> parts,
                                    std::vector<std::string> names) {
  SYRTOS_CHECK(!parts.empty() && (names.empty() || names.size() == parts.size()), "{} {}",
               parts.size(), names.size());
  if (names.empty()) {
    for (const auto& part : parts) names.push_back(part->info().name);
  }
  for (size_t k = 1; k < parts.size(); ++k) {
    const DatasetInfo& first = parts[0]->info();
    const DatasetInfo& other = parts[k]->info();
    check_agreement(first, names[0], other, names[k]);
    if (first.same_size() != other.same_size()) fail_kinds(first, names[0], other, names[k]);
  }
  if (parts.size() == 1) return std::move(parts.front());
  return std::make_unique<Interleaved>(std::move(parts));
}

}  // namespace syrtos::data

#include "syrtos/data/sets/as_trained.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/data/sets/split.h"

namespace syrtos::data {

namespace {

constexpr size_t kMostListed = 20;

/// "a, b, c, ... (30 in all)"
std::string list_of(std::span<const std::string> names) {
  const size_t shown = std::min(names.size(), kMostListed);
  const std::string text = fmt::format("{}", fmt::join(names.first(shown), ", "));
  return shown == names.size() ? text : fmt::format("{}, ... ({} in all)", text, names.size());
}

/// "pictures of 3x32x32", "rows of 4 numbers", "signals of 128 values with 6 channels"
std::string kind_text(const Shape& image, bool is_table) {
  if (image[1] == 0)
    return fmt::format("pictures with {} channel{}", image[0], image[0] == 1 ? "" : "s");
  if (image[1] != 1) return fmt::format("pictures of {}x{}x{}", image[0], image[1], image[2]);
  if (is_table) return fmt::format("rows of {} numbers", image[2]);
  return fmt::format("signals of {} values with {} channel{}", image[2], image[0],
                     image[0] == 1 ? "" : "s");
}

bool is_row(const Shape& image) { return image[0] == 1 && image[1] == 1 && image[2] <= 50; }

bool are_numbered(const std::vector<std::string>& classes) {
  return classes == numbered_classes(static_cast<int64_t>(classes.size()));
}

/// As checkpoints keep it: names of folders may be no UTF-8.
std::string as_kept(const std::string& name) {
  using nlohmann::json;
  return json::parse(json(name).dump(-1, ' ', false, json::error_handler_t::replace));
}

/// Of each class here, which one of training it is; empty: the same.
std::vector<int32_t> places_of_classes(const DatasetInfo& found, const Trained& trained) {
  const std::vector<std::string>& known = trained.classes;
  if (known.empty() || found.classes.empty() || found.classes == known) return {};
  std::vector<int32_t> places(found.classes.size());
  std::iota(places.begin(), places.end(), 0);
  std::vector<std::string> others;
  if (!found.numbers && (are_numbered(known) || are_numbered(found.classes))) {
    if (places.size() <= known.size()) return places;  // its info says so, see below
    others.assign(found.classes.begin() + std::ssize(known), found.classes.end());
  } else {
    for (size_t k = 0; k < places.size(); ++k) {
      const auto at = std::find(known.begin(), known.end(), as_kept(found.classes[k]));
      places[k] = static_cast<int32_t>(at - known.begin());
      if (at == known.end()) others.push_back(found.classes[k]);
    }
  }
  if (others.empty()) return places;
  fail_request(
      "{}: expected the classes that the network was trained to tell apart ({}), found {} that "
      "{} not among them: {}{}; leave {} out, or train on data that has {}",
      found.name, list_of(known), others.size() == 1 ? "one" : std::to_string(others.size()),
      others.size() == 1 ? "is" : "are", list_of(others),
      others.size() == 1 ? did_you_mean(others[0], known) : "", others.size() == 1 ? "it" : "them",
      others.size() == 1 ? "it" : "them");
}

/// Samples whose columns, or numbers of classes, are put where they were in training.
class Rearranged : public Dataset {
 public:
  Rearranged(std::unique_ptr<Dataset> of, std::vector<size_t> columns, std::vector<int32_t> classes,
             const Trained& trained)
      : of_(std::move(of)), columns_(std::move(columns)), classes_(std::move(classes)) {
    info_ = of_->info();
    if (!columns_.empty()) info_.columns = trained.columns;
    if (classes_.empty()) return;
    if (are_numbered(info_.classes) != are_numbered(trained.classes)) {
      info_.notes.push_back(fmt::format(
          "{}: its classes are {}, those of training {}: they are matched by their number",
          info_.name, list_of(info_.classes), list_of(trained.classes)));
    }
    info_.classes = trained.classes;
  }

  Target target(int64_t index) const override { return renumbered(of_->target(index)); }

  Sample read(int64_t index, Scratch& scratch) const override {
    Sample sample = of_->read(index, scratch);
    sample.target = renumbered(sample.target);
    const bool numbers = info_.numbers && !classes_.empty();
    if (columns_.empty() && !numbers) return sample;
    const auto count = static_cast<size_t>(sample.elements());
    scratch.columns.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const float value = sample.floats()[columns_.empty() ? i : columns_[i]];
      scratch.columns[i] =
          numbers ? static_cast<float>(classes_[static_cast<size_t>(value)]) : value;
    }
    sample.values = scratch.columns.data();
    return sample;
  }

  std::span<const uint8_t> encoded(int64_t index, Scratch& scratch) const override {
    return of_->encoded(index, scratch);
  }
  void check() const override { of_->check(); }

 private:
  Target renumbered(Target target) const {
    if (!classes_.empty()) target.label = classes_[static_cast<size_t>(target.label)];
    return target;
  }

  std::unique_ptr<Dataset> of_;
  std::vector<size_t> columns_;   // of each column of training, the one here; empty: the same
  std::vector<int32_t> classes_;  // of each class here, that of training; empty: the same
};

}  // namespace

std::vector<size_t> places_of_columns(std::span<const std::string> wanted,
                                      std::span<const std::string> found, const std::string& name) {
  std::vector<size_t> places;
  for (const std::string& column : wanted) {
    const auto at = std::find(found.begin(), found.end(), column);
    if (at == found.end()) break;
    places.push_back(static_cast<size_t>(at - found.begin()));
  }
  if (places.size() == wanted.size() && found.size() == wanted.size()) return places;
  fail_request("{}: expected the columns of training, in any order: {}; found: {}", name,
               list_of(wanted), list_of(found));
}

void require_kind(const DatasetInfo& found, const Trained& trained) {
  if (trained.image.rank() != 3) return;
  const bool row = trained.image[1] == 1;
  const bool other_length = row && found.dtype == DType::f32 && !(found.shape() == trained.image);
  if ((found.height == 1) == row && !other_length) return;
  const auto listed = [](const std::vector<std::string>& names) {
    return names.empty() ? "" : " (" + list_of(names) + ")";
  };
  fail_request("{}: expected {}{}, as the network was trained on, found {}{}", found.name,
               kind_text(trained.image, is_row(trained.image)), listed(trained.columns),
               kind_text(found.shape(), found.is_table()), listed(found.columns));
}

std::unique_ptr<Dataset> as_trained(std::unique_ptr<Dataset> of, const Trained& trained) {
  if (!of || trained.image.rank() != 3) return of;
  const DatasetInfo& info = of->info();
  require_kind(info, trained);
  std::vector<size_t> columns;
  if (!trained.columns.empty() && !info.columns.empty() && info.columns != trained.columns) {
    columns = places_of_columns(trained.columns, info.columns, info.name);
  }
  std::vector<int32_t> classes = places_of_classes(info, trained);
  if (columns.empty() && classes.empty()) return of;
  return std::make_unique<Rearranged>(std::move(of), std::move(columns), std::move(classes),
                                      trained);
}

}  // namespace syrtos::data

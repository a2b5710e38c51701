#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace syrtos::run {

/// Something that predictions are measured by.
struct Metric {
  std::string_view name;   ///< In files and options: "accuracy".
  std::string_view title;  ///< For people: "accuracy", "MAE".
  bool is_share = false;   ///< From 0 to 1, shown in percent.
  bool shown = false;      ///< People see it after every epoch.
  bool higher_is_better = true;

  std::string text(double value) const;        ///< "91.20 %", "0.2834"
  std::string named_text(double value) const;  ///< "accuracy 91.20 %"
};

/// All of them; those that come first are what people look at first.
std::span<const Metric> metrics();
/// nullptr: there is none of this name.
const Metric* find_metric(std::string_view name);
/// One that is there.
const Metric& metric(std::string_view name);

/// What predictions came to by one of them.
struct Score {
  const Metric* metric = nullptr;  ///< nullptr: nothing is known
  double value = 0;

  bool operator==(const Score&) const = default;
};
using Scores = std::vector<Score>;

/// NaN: it is not among them.
double value_of(const Scores& scores, std::string_view name);
/// "test MAE 3.1, test R2 0.91": those that people see, each after `before`.
std::string to_text(const Scores& scores, std::string_view before = "",
                    std::string_view between = ", ");

}  // namespace syrtos::run

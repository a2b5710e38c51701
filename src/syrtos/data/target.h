#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace syrtos::data {

/// What is to be found out about a sample: its class, or values.
struct Target {
  int32_t label = 0;                   ///< Of data with classes; below 0: nobody knows it.
  std::span<const float> values = {};  ///< Of other data, whose memory they are in.
  /// The classes' probabilities as a teacher sees them, softened; empty: no teacher was asked.
  std::span<const float> taught = {};
};

/// The values that a data set has for each sample where it has no classes.
struct TargetInfo {
  int64_t values = 0;                   ///< Of a sample; 0: it has a class, or nothing is known.
  std::vector<int64_t> shape = {};      ///< How they belong together; empty: one after the other.
  std::vector<std::string> names = {};  ///< One for each, or none.
  bool binary = false;                  ///< All are 0 or 1: labels that a sample has or has not.

  bool operator==(const TargetInfo&) const = default;
  /// Of one of them: its name, or its number.
  std::string name(int64_t index) const {
    const auto at = static_cast<size_t>(index);
    return at < names.size() ? names[at] : std::to_string(index);
  }
};

/// What numbers beside samples are taken for.
enum class TargetKind : uint8_t { found_out, classes, values };

/// The targets of all samples in memory.
class Targets {
 public:
  Targets() = default;
  Targets(std::vector<int32_t> labels)  // NOLINT(google-explicit-constructor): what most have
      : labels_(std::move(labels)) {}
  Targets(std::initializer_list<int32_t> labels) : labels_(labels) {}
  /// `each` values for every sample, one sample after the other.
  Targets(std::vector<float> values, int64_t each) : values_(std::move(values)), each_(each) {}

  int64_t size() const {
    return each_ > 0 ? static_cast<int64_t>(values_.size()) / each_
                     : static_cast<int64_t>(labels_.size());
  }
  Target operator[](int64_t index) const {
    if (each_ == 0) return {.label = labels_[static_cast<size_t>(index)]};
    return {.values = std::span(values_).subspan(static_cast<size_t>(index * each_),
                                                 static_cast<size_t>(each_))};
  }

 private:
  std::vector<int32_t> labels_;
  std::vector<float> values_;
  int64_t each_ = 0;  // 0: they are labels
};

}  // namespace syrtos::data

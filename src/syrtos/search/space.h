#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "syrtos/job/request.h"

namespace syrtos::search {

/// Values of the parameters that count, as their options take them, by the keys of a job file:
/// "optimizer.lr" -> "0.05". What a condition switches off is left out.
using Point = std::map<std::string, std::string>;

/// A parameter counts only where another one has one of these values.
struct Condition {
  std::string key;
  std::vector<std::string> values;
};

/// An option of a job, and what it may be.
struct Parameter {
  enum class Kind {
    choice,  ///< one of some values
    range,   ///< from low to high, all equally likely
    log,     ///< from low to high, all powers equally likely
  };

  const job::JobField* field = nullptr;
  Kind kind = Kind::choice;
  std::vector<std::string> choices = {};
  double low = 0, high = 0;
  int64_t points = 0;  ///< of a range in a grid; 0: not said
  std::vector<Condition> when = {};

  std::string key() const { return std::string(field->key); }
  bool is_whole() const;  ///< the option takes whole numbers
  /// How many different values there are; 0: so many that nobody counts them.
  int64_t values() const;

  /// The value at a place from 0 to 1: numbers have four digits that count.
  std::string at(double place) const;
  /// A place whose value this is; of choices the middle of the part that means it.
  double place_of(const std::string& value) const;
};

/// What is searched: whatever a condition names stands before the parameter that has it.
struct Space {
  std::vector<Parameter> parameters;

  /// The conditions of the parameter hold, with what the point says of those before it.
  static bool counts(const Parameter& parameter, const Point& point);
  /// The point at these places, one for each parameter.
  Point at(std::span<const double> places) const;
};

/// Puts the values into a job.
void apply(const Point& point, job::JobRequest& job);

/// "lr 0.05, batch 32": for people, by the names of the options.
std::string to_string(const Point& point);

}  // namespace syrtos::search

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "syrtos/search/ledger.h"
#include "syrtos/search/plan.h"

namespace syrtos::search {

/// Where a new trial looks.
enum class SamplerKind {
  grid,    ///< every combination, in an order without order
  random,  ///< anywhere
  quasi,   ///< anywhere, evenly spread
  tpe,     ///< near what was good so far
};
/// Throws RequestError.
SamplerKind parse_sampler(std::string_view name);

/// All combinations of choices, whole numbers and `points` of ranges. Throws RequestError where
/// they cannot be counted or are too many.
std::vector<Point> grid_points(const Plan& plan);

/// Numbers from 0 to 1 as a pure function of seed, trial, attempt and dimension.
double random_place(int64_t seed, uint32_t trial, uint32_t attempt, uint32_t dimension);

/// The places of a trial in the sequence R_d, which leaves no gaps however long it is.
std::vector<double> quasi_places(int64_t seed, uint32_t trial, size_t dimensions);

/// A point where more of the good trials are than of the others. None: spread this one evenly.
std::optional<Point> tpe_point(const Plan& plan, const Ledger& ledger, uint32_t attempt);

/// Makes the points of a search, one after the other, each from what is known then.
class Sampler {
 public:
  explicit Sampler(const Plan& plan);

  /// The next trial's point, which is none of those that were tried; nothing: there are no more.
  std::optional<Point> next(const Ledger& ledger) const;
  /// Trials that there can be; 0: without end.
  int64_t size() const { return static_cast<int64_t>(all_.size()); }

 private:
  std::optional<Point> untried(const Ledger& ledger) const;

  const Plan& plan_;
  const SamplerKind kind_;
  std::vector<Point> all_;  // of a grid, or of a space that is small enough
};

}  // namespace syrtos::search

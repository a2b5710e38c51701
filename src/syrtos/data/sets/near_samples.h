#pragma once

#include <memory>
#include <vector>

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// Made-up samples near those of a data set, after MUNGE (Bucila et al. 2006): each is one of its
/// samples of which some parts come from another that is much like it, so that it lies where the
/// data lies. Of signals and tables a part is a value, drawn from a normal distribution around the
/// other's with half of their distance as deviation; of pictures it is a tile, of which there are
/// 8 x 8, since single pixels of another picture would be noise. Sample n is a function of the
/// seed, of n and of the data alone.
class NearSamples : public Dataset {
 public:
  /// Looks for what is much like each sample now, on all threads. Throws RequestError.
  NearSamples(std::shared_ptr<const Dataset> of, int64_t count, uint64_t seed);

  Target target(int64_t index) const override { return of_->target(base(index)); }
  Sample read(int64_t index, Scratch& scratch) const override;
  void check() const override { of_->check(); }

  /// Which sample it is made of, and which one parts are taken from.
  int64_t base(int64_t index) const { return index % of_->size(); }
  int64_t other(int64_t index) const { return others_[static_cast<size_t>(base(index))]; }

 private:
  void find_others();

  std::shared_ptr<const Dataset> of_;
  uint64_t seed_;
  std::vector<int64_t> others_;  // of each sample that one is made of
};

}  // namespace syrtos::data

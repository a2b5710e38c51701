#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/data/dataset.h"
#include "syrtos/data/pipeline/order.h"
#include "syrtos/data/pipeline/permutation.h"

namespace syrtos::data {

/// Which samples a worker trains with.
struct Sharding {
  enum class Kind {
    shuffled,    ///< every epoch is dealt anew: any worker may get any sample
    contiguous,  ///< each keeps one piece of the data in its order
    by_class,    ///< each keeps one piece of the data sorted by class
    replicated,  ///< all have some samples, each also keeps a part of the others
    unequal,     ///< each keeps a share of its own size, drawn once
  };
  Kind kind = Kind::shuffled;
  double replicated = 0;            ///< share of the samples that all workers have
  std::vector<double> shares = {};  ///< of unequal: how the sizes relate, one for each worker

  /// Workers keep their samples, instead of being dealt others in every epoch.
  bool keeps() const { return kind != Kind::shuffled; }
};

std::string to_string(const Sharding& sharding);
/// Understands shuffled, contiguous, by-class, replicated:0.2 and unequal:4,2,1. Throws
/// RequestError for anything else.
Sharding parse_sharding(std::string_view text);

/// How many of so many samples one worker has.
int64_t held(const Sharding& sharding, int64_t samples, const Shard& shard);

/// The samples that one worker draws from, all through a run.
class Holding {
 public:
  /// `data` outlives it. With by_class every sample's class is asked for once.
  Holding(const Sharding& sharding, const Dataset& data, const Shard& shard, uint64_t seed);

  int64_t size() const { return common_ + own_; }
  /// 0 <= n < size().
  int64_t operator[](int64_t n) const;
  /// Where a worker stands in an epoch's order of its samples: of a data set that is dealt anew
  /// behind the samples of others, else behind its own.
  int64_t begin(int64_t used, int64_t batch, const Slice& slice) const;
  /// Of the order in which it draws: workers that keep their samples have one each.
  uint64_t seed() const { return seed_; }

 private:
  bool keeps_;
  Shard shard_;
  uint64_t seed_;
  bool dealt_ = false;  // pieces are cut from a permutation of the samples
  Permutation deal_;
  std::vector<int64_t> sorted_;  // by class; empty: pieces are cut from the order of the data
  int64_t common_ = 0;           // samples that all have, at the beginning
  int64_t first_ = 0;            // of the worker's own
  int64_t own_ = 0;
};

/// The order of one epoch for one worker. When its samples are at an end it begins again.
class EpochOrder {
 public:
  EpochOrder(const Holding& holding, int64_t epoch)
      : holding_(holding), order_(holding.size(), holding.seed(), epoch) {}
  int64_t operator[](int64_t position) const {
    return holding_[order_[position % holding_.size()]];
  }

 private:
  const Holding& holding_;
  Permutation order_;
};

}  // namespace syrtos::data

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace syrtos::data {

/// One of the workers that share the epochs of a data set.
struct Shard {
  int64_t worker = 0;
  int64_t workers = 1;
};

/// What happens at the end of an epoch when fewer samples are left than all workers take in a step.
enum class Remainder {
  short_batch,  ///< the workers share what is left: no sample is lost, none is used twice
  drop,         ///< what is left is not used in this epoch
  pad,          ///< full batches, completed with samples from the beginning of the epoch's order
};

const char* to_string(Remainder remainder);
/// Understands "short", "drop" and "pad". Throws RequestError for anything else.
Remainder parse_remainder(std::string_view name);

/// What one worker takes in one step: positions first .. first + count - 1 of the epoch's order
/// (modulo the size of the data set, for padding).
struct Slice {
  int64_t first = 0;
  int64_t count = 0;
  int64_t used = 0;   ///< samples of the epoch that all workers have taken after this step
  bool last = false;  ///< the epoch ends with this step
};

/// The step after `used` samples of an epoch of `size`, all workers together taking up to `batch`.
///
/// The epoch's order is a function of seed and epoch alone, and so is its beginning: how many
/// samples were used says which. Workers take neighbouring slices of the next `batch` samples,
/// equal to within one, so after a stop any number of workers can go on with just what was not used
/// yet.
Slice slice_of(int64_t size, int64_t used, int64_t batch, const Shard& shard, Remainder remainder);

/// How many steps an epoch still has after `used` samples.
int64_t steps_left(int64_t size, int64_t used, int64_t batch, Remainder remainder);

/// The most samples that one of so many workers takes of a batch.
inline int64_t largest_share(int64_t batch, int64_t workers) {
  return (batch + workers - 1) / workers;
}

}  // namespace syrtos::data

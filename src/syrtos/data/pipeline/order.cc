#include "syrtos/data/pipeline/order.h"

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"

namespace syrtos::data {

const char* to_string(Remainder remainder) {
  switch (remainder) {
    case Remainder::short_batch:
      return "short";
    case Remainder::drop:
      return "drop";
    case Remainder::pad:
      return "pad";
  }
  return "?";
}

Remainder parse_remainder(std::string_view name) {
  for (const auto value : {Remainder::short_batch, Remainder::drop, Remainder::pad}) {
    if (name == to_string(value)) return value;
  }
  fail_request("--remainder: expected short, drop or pad, found '{}'{}", name,
               suggestion(name, {"short", "drop", "pad"}));
}

int64_t steps_left(int64_t size, int64_t used, int64_t batch, Remainder remainder) {
  const int64_t left = size - used;
  return remainder == Remainder::drop ? left / batch : (left + batch - 1) / batch;
}

Slice slice_of(int64_t size, int64_t used, int64_t batch, const Shard& shard, Remainder remainder) {
  SYRTOS_CHECK(shard.worker >= 0 && shard.worker < shard.workers, "{} of {}", shard.worker,
               shard.workers);
  SYRTOS_CHECK(steps_left(size, used, batch, remainder) > 0, "{} of {} used", used, size);
  const int64_t taken = remainder == Remainder::pad ? batch : std::min(batch, size - used);
  const int64_t begin = taken * shard.worker / shard.workers;
  const int64_t end = taken * (shard.worker + 1) / shard.workers;
  Slice slice{.first = used + begin, .count = end - begin, .used = std::min(size, used + taken)};
  slice.last = steps_left(size, slice.used, batch, remainder) == 0;
  return slice;
}

}  // namespace syrtos::data

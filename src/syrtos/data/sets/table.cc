#include "syrtos/data/sets/table.h"

#include "syrtos/base/error.h"

namespace syrtos::data {

Table::Table(DatasetInfo info, std::vector<uint8_t> values, Targets targets)
    : values_(std::move(values)), targets_(std::move(targets)) {
  info_ = std::move(info);
  info_.size = targets_.size();
  const int64_t bytes =
      info_.size * info_.shape().elements() * static_cast<int64_t>(size_of(info_.dtype));
  SYRTOS_CHECK(static_cast<int64_t>(values_.size()) == bytes, "{} {}", values_.size(), bytes);
}

Sample Table::read(int64_t index, Scratch& /*scratch*/) const {
  const int64_t bytes = info_.shape().elements() * static_cast<int64_t>(size_of(info_.dtype));
  return {.values = values_.data() + index * bytes,
          .dtype = info_.dtype,
          .channels = info_.channels,
          .height = info_.height,
          .width = info_.width,
          .target = target(index)};
}

}  // namespace syrtos::data

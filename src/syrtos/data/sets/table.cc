#include "syrtos/data/sets/table.h"

#include "syrtos/base/error.h"

namespace syrtos::data {

Table::Table(DatasetInfo info, std::vector<uint8_t> values, std::vector<int32_t> labels)
    : values_(std::move(values)), labels_(std::move(labels)) {
  info_ = std::move(info);
  info_.size = static_cast<int64_t>(labels_.size());
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
          .label = label(index)};
}

}  // namespace syrtos::data

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "syrtos/collective/predict.h"

namespace syrtos::strategy {

/// What crosses between hosts, as people write it: "60us,117MB/s".
std::string to_string(const collective::LinkSpeed& link);
/// Understands what to_string() writes, in us, ms, MB/s and GB/s too; none for "auto": it is
/// measured. Throws RequestError for anything else.
std::optional<collective::LinkSpeed> parse_links(std::string_view text);

/// As it is after it was written and read again.
collective::LinkSpeed as_written(const collective::LinkSpeed& link);

}  // namespace syrtos::strategy

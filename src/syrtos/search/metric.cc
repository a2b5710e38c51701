#include "syrtos/search/metric.h"

#include <fmt/format.h>

namespace syrtos::search {

std::string short_value(job::Metric metric, double value) {
  return metric == job::Metric::accuracy ? fmt::format("{:.2f} %", 100 * value)
                                         : fmt::format("{:.4g}", value);
}

std::string value_text(job::Metric metric, double value) {
  return fmt::format("{} {}", job::to_string(metric), short_value(metric, value));
}

}  // namespace syrtos::search

#pragma once

#include <string>

#include "syrtos/job/job.h"

namespace syrtos::search {

/// "accuracy 91.20 %", "loss 0.2834".
std::string value_text(job::Metric metric, double value);
/// The number alone: "91.20 %".
std::string short_value(job::Metric metric, double value);

}  // namespace syrtos::search

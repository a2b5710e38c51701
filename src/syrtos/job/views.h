#pragma once

#include <string_view>
#include <vector>

#include "syrtos/data/pipeline/augment.h"

namespace syrtos::job {

/// How each test sample is looked at.
enum class Views {
  none,            ///< As it is.
  flip,            ///< Also mirrored.
  flip_and_shift,  ///< Both, and also moved by a pixel up and left, and down and right.
};

/// "none", "flip" or "flip+shift".
const char* to_string(Views views);
/// Throws RequestError.
Views parse_views(std::string_view name);

/// One way of looking at a test sample, and how much its logits count.
struct View {
  data::Placement placement;
  float weight = 1;
};

/// The single ones; what is moved counts, together, as much as what is not.
std::vector<View> views_of(Views views);

}  // namespace syrtos::job

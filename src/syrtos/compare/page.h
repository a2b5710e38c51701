#pragma once

#include <string>

#include "syrtos/compare/comparison.h"

namespace syrtos::compare {

/// The comparison as one page that needs no other file: tables, bars beside each other, the walk
/// down in words. Light and dark, wide and narrow.
std::string comparison_page(const Comparison& comparison);

}  // namespace syrtos::compare

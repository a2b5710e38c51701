#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace syrtos::data {

/// Takes the last of so many channels, alpha, away: pixels are laid over black.
void lay_over_black(std::vector<uint8_t>& pixels, size_t channels);

}  // namespace syrtos::data

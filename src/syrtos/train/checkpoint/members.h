#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "syrtos/nn/network.h"

namespace syrtos::train {

/// Of a checkpoint of several networks side by side (nn/side_by_side.h): one checkpoint for each of
/// them, as if it had been trained alone. What their optimiser keeps is left out. `network`: one
/// of them. Returns how many there are. Throws RequestError when it is of something else, RunError
/// when a file cannot be written.
int64_t split_members(const std::filesystem::path& checkpoint, const nn::Network& network,
                      const std::function<std::filesystem::path(int64_t number)>& file);

}  // namespace syrtos::train

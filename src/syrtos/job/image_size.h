#pragma once

#include <cstdint>
#include <string_view>

#include "syrtos/nn/network.h"
#include "syrtos/tensor/shape.h"

namespace syrtos::job {

/// "32", "48x64" or "3x48x64"; what is left open, everything for "auto", is 0.
struct ImageSize {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;

  /// [channels, height, width], with those of `open` (or the network's own) where nothing was said.
  Shape shape_or(const Shape& open) const;
  Shape shape_for(const nn::NetworkInfo& network) const;
};

/// Throws RequestError.
ImageSize parse_image_size(std::string_view text);
/// "3x48x64".
std::string image_size_text(const Shape& image);

}  // namespace syrtos::job

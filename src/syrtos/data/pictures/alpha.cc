#include "syrtos/data/pictures/alpha.h"

namespace syrtos::data {

// This works in place, since the result is shorter.
void lay_over_black(std::vector<uint8_t>& pixels, size_t channels) {
  const size_t count = pixels.size() / channels;
  const size_t colours = channels - 1;
  for (size_t i = 0; i < count; ++i) {
    const int alpha = pixels[channels * i + colours];
    for (size_t c = 0; c < colours; ++c) {
      pixels[colours * i + c] =
          static_cast<uint8_t>((pixels[channels * i + c] * alpha + 127) / 255);
    }
  }
  pixels.resize(count * colours);
}

}  // namespace syrtos::data

#pragma once

#include "syrtos/data/pipeline/augment.h"

namespace syrtos::data {

/// How the colours of a picture change, in this order.
struct ColourChange {
  float brightness = 1;  ///< times as bright
  float contrast = 1;    ///< times as far from the mean of the picture's greys
  float saturation = 1;  ///< times as far from each pixel's own grey
  float hue = 0;         ///< turned by so much of the colour circle
};

ColourChange place_colours(const Augment& augment, const SampleKey& key);

/// Changes the picture in place. Of one channel only brightness and contrast; others than 1 and 3
/// are left alone.
void change_colours(const ColourChange& change, int64_t pixels, int64_t channels, uint8_t* values);

}  // namespace syrtos::data

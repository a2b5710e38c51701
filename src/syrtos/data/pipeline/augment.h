#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "syrtos/data/pictures/resize.h"

namespace syrtos::data {

enum class Flip {
  none,
  random,       ///< left and right changed for half of the samples
  alternating,  ///< random in the first epoch, then the other way in each following one
};

/// What is beyond the edge of a picture or a signal.
enum class Beyond { zero, reflected, nearest };

/// How samples are varied in training. Written as "crop:4,flip,cutout:8".
struct Augment {
  int64_t crop = 0;  ///< a random window of the picture with so many pixels of padding around it
  bool crop_reflected = false;  ///< padded with the mirrored picture instead of zeros
  Flip flip = Flip::none;
  bool flip_vertical = false;  ///< upside down, half of the samples
  int64_t cutout = 0;          ///< side of a square that is blanked out
  double erase = 0;            ///< share of the samples of which a random rectangle is blanked out
  double resized_crop = 0;  ///< least share of the area of a random window that is scaled; 0: off
  double rotate = 0;        ///< by up to so many degrees to either side
  double scale_least = 0;   ///< times as large, from this; 0: off
  double scale_most = 0;    ///< to this
  double brightness = 0;    ///< times 1 - this to 1 + this, as contrast and saturation
  double contrast = 0;
  double saturation = 0;
  double hue = 0;     ///< by up to so much of the colour circle to either side
  int64_t shift = 0;  ///< of signals: by up to so many values to either side
  double noise = 0;   ///< of signals: deviation, in units of the data's own
  double mixup = 0;   ///< strength; 0: off (see mixing.h)
  double cutmix = 0;  ///< strength; 0: off

  bool empty() const { return *this == Augment{}; }
  bool warps() const { return rotate > 0 || scale_least > 0; }
  bool changes_colours() const {
    return brightness > 0 || contrast > 0 || saturation > 0 || hue > 0;
  }
  bool mixes() const { return mixup > 0 || cutmix > 0; }
  bool operator==(const Augment&) const = default;
};

/// Understands that form. Throws RequestError that lists what there is.
Augment parse_augment(std::string_view text);
std::string to_string(const Augment& augment);

/// Where the values of one sample come from.
struct Placement {
  int64_t down = 0;  ///< the result's pixel (y, x) is the sample's (y + down, x + right)
  int64_t right = 0;
  Beyond beyond = Beyond::zero;
  bool flip = false;         ///< then the result is mirrored
  bool upside_down = false;  ///< the first row becomes the last
  int64_t cut_top = 0;       ///< the rectangle from here, clipped, is blanked out
  int64_t cut_left = 0;
  int64_t cut_height = 0;
  int64_t cut_width = 0;
};

/// Names one use of one sample: the same key gives the same placement and noise, whoever asks.
struct SampleKey {
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t sample = 0;
};

/// Decides where the values come from: `height` and `width` are those of the result.
Placement place(const Augment& augment, const SampleKey& key, int64_t height, int64_t width);

/// The part of a picture of that size that a resized crop takes: at least `least` of its area.
Window place_window(double least, const SampleKey& key, int64_t height, int64_t width);

/// Normally distributed numbers for one sample: values 2 * pair and 2 * pair + 1.
struct NoisePair {
  float first;
  float second;
};
NoisePair noise_pair(const SampleKey& key, int64_t pair);

}  // namespace syrtos::data

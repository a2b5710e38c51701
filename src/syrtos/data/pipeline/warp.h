#pragma once

#include "syrtos/data/dataset.h"
#include "syrtos/data/pipeline/augment.h"

namespace syrtos::data {

/// Turned by an angle and scaled around the middle.
struct Warp {
  double angle = 0;  ///< radians, clockwise as seen
  double scale = 1;  ///< above 1: larger, cut at the edges
};

Warp place_warp(const Augment& augment, const SampleKey& key);

/// The sample turned and scaled, of the same size and type, interpolated between the four nearest
/// pixels; zero beyond its edges. Its values are in scratch.warped.
Sample warped(const Sample& sample, const Warp& warp, Scratch& scratch);

}  // namespace syrtos::data

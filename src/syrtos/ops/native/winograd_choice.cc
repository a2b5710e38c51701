#include <algorithm>

#include "syrtos/ops/native/winograd_plan.h"

// Where Winograd pays: an estimate of both algorithms in cycles of one core that completes one
// multiply-add of 16 floats per cycle. The products count exactly; the transforms are linear in
// tiles and in pairs of channels, with factors measured on Zen 4 (arithmetic and cache misses
// together). Few channels, images much smaller than their tiles and single images of many
// channels fall out by themselves.

namespace syrtos::ops::native {
namespace {

// Cycles per vector of 16 channels: for a tile of each image ...
constexpr double kSrcCycles = 500;
constexpr double kDstCycles = 450;
constexpr double kDiffDstCycles = 300;
// ... and for a kernel and its 36 points.
constexpr double kWeightsCycles = 170;
constexpr double kTransposedWeightsCycles = 350;
constexpr double kDiffWeightsCycles = 400;
// What the products reach of the peak.
constexpr double kProductShare = 0.92;
// Estimates err by less than this; a small gain is not worth the additional rounding.
constexpr double kMargin = 1.4;

// Pairs of output and tap along one axis that meet the image.
int64_t pairs_inside(int in, int out, int pad) {
  int64_t pairs = 0;
  for (int tap = 0; tap < 3; ++tap) {
    const int64_t first = std::max(0, pad - tap);
    const int64_t end = std::min(out, in + pad - tap);
    pairs += std::max<int64_t>(end - first, 0);
  }
  return pairs;
}

struct Estimate {
  double blocks_in, blocks_out;  // of 16 channels
  double vectors;                // of 16 pairs of channels
  double direct_all;             // cycles with all taps, and with those that meet the image
  double direct_inside;

  explicit Estimate(const Winograd& p)
      : blocks_in(static_cast<double>(ceil_div(p.in_c, 16))),
        blocks_out(static_cast<double>(ceil_div(p.out_c, 16))),
        vectors(blocks_in * blocks_out * 16) {
    const double pairs = double(p.batch) * p.in_c * blocks_out;
    direct_all = pairs * 9 * p.out_h * p.out_w;
    direct_inside = pairs * static_cast<double>(pairs_inside(p.in_h, p.out_h, p.pad_top)) *
                    static_cast<double>(pairs_inside(p.in_w, p.out_w, p.pad_left));
  }
  double products(double tiles) const { return kWinogradPoints * tiles * vectors / kProductShare; }
  // Direct forward kernels skip taps beyond the border only where whole vectors fall away.
  double direct() const { return (direct_all + direct_inside) / 2; }
};

bool candidate(const Winograd& p) { return best_isa() >= Isa::avx512 && winograd_supported(p); }

}  // namespace

bool winograd_forward_should_use(const Winograd& p) {
  if (!candidate(p)) return false;
  const Estimate e(p);
  const auto tiles = static_cast<double>(winograd_tiles(p.batch, p.out_h, p.out_w));
  const double cycles = e.products(tiles) + e.vectors * kWeightsCycles +
                        tiles * (e.blocks_in * kSrcCycles + e.blocks_out * kDstCycles);
  return cycles * kMargin < e.direct();
}

bool winograd_backward_data_should_use(const Winograd& p) {
  if (!candidate(p)) return false;
  const Estimate e(p);
  const auto tiles = static_cast<double>(winograd_tiles(p.batch, p.in_h, p.in_w));
  const double cycles = e.products(tiles) + e.vectors * kTransposedWeightsCycles +
                        tiles * (e.blocks_out * kSrcCycles + e.blocks_in * kDstCycles);
  return cycles * kMargin < e.direct();
}

bool winograd_backward_weights_should_use(const Winograd& p) {
  if (!candidate(p)) return false;
  const Estimate e(p);
  const auto tiles = static_cast<double>(winograd_tiles(p.batch, p.out_h, p.out_w));
  const double cycles = e.products(tiles) + e.vectors * kDiffWeightsCycles +
                        tiles * (e.blocks_in * kSrcCycles + e.blocks_out * kDiffDstCycles);
  return cycles * kMargin < e.direct_inside;  // conv_wgrad visits no other taps
}

}  // namespace syrtos::ops::native

#include "syrtos/ops/native/amx/conv_weights.h"

#include <cstring>

#include "syrtos/base/parallel.h"

namespace syrtos::ops::native::amx {

namespace {

constexpr int64_t kSerialBelow = 8 << 10;  // elements that are not worth waking threads

/// Element (k, column) of tap t lies at offset_k(k) + column * column_step + t * tap_step.
template <typename Offset>
void pack_tiles(const uint16_t* from, int taps, int k_count, int columns, Offset offset_k,
                int64_t column_step, int64_t tap_step, char* tiles) {
  const int64_t k_tiles = ceil_div(k_count, 32);
  const int64_t count = ceil_div(columns, 16) * taps * k_tiles;
  parallel_for(count, 1, kSerialBelow / 512, [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) {
      auto* to = reinterpret_cast<uint16_t*>(tiles + tile * kTileBytes);
      const int64_t k0 = tile % k_tiles * 32;
      const int64_t tap = tile / k_tiles % taps;
      const int64_t column0 = tile / k_tiles / taps * 16;
      std::memset(to, 0, kTileBytes);
      for (int64_t k = k0; k < k0 + 32 && k < k_count; ++k) {
        const uint16_t* row = from + offset_k(k) + tap * tap_step + column0 * column_step;
        uint16_t* at = to + (k - k0) / 2 * 32 + (k - k0) % 2;
        const int64_t n = columns - column0 < 16 ? columns - column0 : 16;
        for (int64_t c = 0; c < n; ++c) at[c * 2] = row[c * column_step];
      }
    }
  });
}

}  // namespace

void pack_forward_weights(const AmxConv& p, const uint16_t* weights, char* tiles) {
  const int taps = p.kernel_h * p.kernel_w;
  const int64_t i = p.in_c;
  if (uses_segments(p)) {
    pack_tiles(
        weights, p.kernel_h, p.kernel_w * p.in_c, p.out_c,
        [=](int64_t k) { return k % i * taps + k / i; }, i * taps, p.kernel_w, tiles);
  } else {
    pack_tiles(
        weights, taps, p.in_c, p.out_c, [=](int64_t k) { return k * taps; }, i * taps, 1, tiles);
  }
}

void pack_backward_weights(const AmxConv& p, const uint16_t* weights, char* tiles) {
  const int taps = p.kernel_h * p.kernel_w;
  const int64_t step_o = int64_t{p.in_c} * taps;
  pack_tiles(
      weights, taps, p.out_c, p.in_c, [=](int64_t k) { return k * step_o; }, taps, 1, tiles);
}

void transpose_tiled_weights(const AmxConv& p, const Gather& g, const uint16_t* weights,
                             char* tiles) {
  const int64_t taps = int64_t{p.kernel_h} * p.kernel_w;
  const int64_t i_blocks = p.in_c / 32;
  const int64_t o_tiles = p.out_c / 16;
  const int64_t k_tiles = ceil_div(p.out_c, 32);
  const auto* from = reinterpret_cast<const char*>(weights);
  parallel_for(o_tiles * taps, 1, 2, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t o = task / taps;
      const auto tap = static_cast<int>(task % taps);
      if (!g.h.ever_inside(tap / p.kernel_w) || !g.w.ever_inside(tap % p.kernel_w)) continue;
      for (int64_t block = 0; block < i_blocks; ++block) {
        const auto half = [&](int64_t column, int64_t which) {
          return tiles + ((column * taps + tap) * k_tiles + o / 2) * kTileBytes + which * 512;
        };
        transpose_weights(from + (task * i_blocks + block) * kTileBytes, half(2 * block, o % 2),
                          half(2 * block + 1, o % 2));
        if (o + 1 == o_tiles && o % 2 == 0) {  // no tile fills the other half
          std::memset(half(2 * block, 1), 0, 512);
          std::memset(half(2 * block + 1, 1), 0, 512);
        }
      }
    }
  });
}

}  // namespace syrtos::ops::native::amx

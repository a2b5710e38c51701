#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/winograd_plan.h"

// The weight gradient: how the products over tiles are shared out. winograd.isa.cc opens with the
// algorithm. The tiles of the batch go through in blocks, whose V and Z (the transformed src and
// diff_dst) fit the shared cache. For each block
//   1. threads share out the tiles and transform them,
//   2. threads share out the products: dU[point] (in_c x out_c) += V[point]^T Z[point].
// Then dU becomes diff_weights. If all tiles fit into one block, a thread takes whole pieces of
// dU (all points of 64 input and 32 output channels) and turns each into diff_weights at once:
// dU, four times diff_weights, never leaves the core. Otherwise the products are shared out by
// points, so that each thread reads only its own points of V and Z, and dU is kept in memory.

namespace syrtos::ops::native {
namespace {

// V and Z of a block: small, so that they are still in the caches of the cores for step 2, ...
constexpr int64_t kSharedBytes = int64_t{3} << 20;
// ... unless all of them fit the shared cache.
constexpr int64_t kWholeBytes = int64_t{16} << 20;
// Tiles that one product sums over: panels of this height stay in the first-level cache.
constexpr int64_t kDepth = 192;
constexpr int kPieceBlocks = 4;  // of 16 input channels

struct Plan {
  bool whole = false;  // all tiles in one block
  int row_blocks = 0;
  int panels = 0;
  int row_pieces = 0;
  int64_t blocks = 1;
  int64_t block_tiles = 0;
  int64_t v_point = 0;
  int64_t z_point = 0;
  int64_t u_point = 0;
  int64_t u_size = 0;
  // Offsets in floats.
  int64_t z_at = 0;
  int64_t u_at = 0;
  int64_t sums_at = 0;
  int64_t floats = 0;
};

Plan make_plan(const Winograd& p) {
  SYRTOS_CHECK(winograd_supported(p), "[winograd] images of {}x{}, i_pack {}, o_block {}", p.out_h,
               p.out_w, p.weights.i_pack, p.weights.o_block);
  const int64_t threads = thread_count();
  const int64_t tiles = winograd_tiles(p.batch, p.out_h, p.out_w);
  Plan plan;
  plan.row_blocks = static_cast<int>(ceil_div(p.in_c, kWinogradBlock));
  plan.panels = static_cast<int>(ceil_div(p.out_c, kWinogradPanel));
  plan.row_pieces = static_cast<int>(ceil_div(plan.row_blocks, kPieceBlocks));
  const int64_t rows = int64_t{plan.row_blocks} * kWinogradBlock;
  const int64_t columns = int64_t{plan.panels} * kWinogradPanel;
  const int64_t tile_bytes = 4 * kWinogradPoints * (rows + columns);
  const int64_t pieces = int64_t{plan.row_pieces} * plan.panels;
  plan.whole =
      tiles * tile_bytes <= kWholeBytes && (pieces % threads == 0 || pieces >= 8 * threads);
  if (!plan.whole) {
    const int64_t most = std::max<int64_t>(kSharedBytes / tile_bytes, 64);
    plan.blocks = ceil_div(tiles, most);
  }
  plan.block_tiles = ceil_div(tiles, plan.blocks);
  plan.v_point = odd_lines(plan.block_tiles * rows);
  plan.z_point = odd_lines(plan.block_tiles * columns);
  const int64_t u_rows = plan.whole ? int64_t{kPieceBlocks} * kWinogradBlock : rows;
  plan.u_point = odd_lines(u_rows * kWinogradPanel);
  plan.u_size = plan.u_point * kWinogradPoints;
  plan.z_at = plan.v_point * kWinogradPoints;
  plan.u_at = plan.z_at + plan.z_point * kWinogradPoints;
  plan.sums_at = plan.u_at + (plan.whole ? threads : plan.panels) * plan.u_size;
  plan.floats = plan.sums_at + threads * columns;
  return plan;
}

int columns_of(int channels, int panel) {
  return channels - panel * kWinogradPanel > kWinogradBlock ? kWinogradPanel : kWinogradBlock;
}

struct Pass {
  const Winograd& p;
  const Plan& plan;
  const WinogradKernels& kernels;
  WinogradImages<const float> src;
  WinogradImages<const float> diff_dst;
  float* diff_weights;
  float* diff_bias;
  float* scratch;

  float* sums(int thread) const {
    return scratch + plan.sums_at + int64_t{thread} * plan.panels * kWinogradPanel;
  }
};

// Step 1 for the block that begins at tile `first` and has `count`.
void transform_block(const Pass& pass, int64_t first, int64_t count) {
  const Plan& plan = pass.plan;
  parallel([&](int thread, int threads) {
    const Range range = share_of(count, thread, threads);
    const int64_t own = range.end - range.begin;
    float* at = pass.scratch + range.begin * kWinogradBlock;
    float* sums = pass.diff_bias != nullptr ? pass.sums(thread) : nullptr;
    pass.kernels.transform_src(pass.src, first + range.begin, own,
                               {at, plan.v_point, count * kWinogradBlock});
    pass.kernels.transform_diff_dst(pass.diff_dst, first + range.begin, own,
                                    {at + plan.z_at, plan.z_point, count * kWinogradBlock}, sums);
  });
}

// v^T z over long sums in parts that stay in the first-level cache.
void multiply(const Pass& pass, WinogradMatrix v, int blocks, WinogradMatrix z, int64_t tiles,
              const WinogradPanel& u, bool accumulate, int begin, int end) {
  const int64_t parts = ceil_div(tiles, kDepth);
  for (int64_t part = 0; part < parts; ++part) {
    const Range range = share_of(tiles, static_cast<int>(part), static_cast<int>(parts));
    WinogradMatrix v_part = v;
    WinogradMatrix z_part = z;
    v_part.data += range.begin * kWinogradBlock;
    z_part.data += range.begin * kWinogradBlock;
    pass.kernels.multiply_transposed(v_part, blocks, z_part, range.end - range.begin, u,
                                     accumulate || part > 0, begin, end);
  }
}

void run_whole(const Pass& pass, int64_t tiles) {
  const Plan& plan = pass.plan;
  transform_block(pass, 0, tiles);
  parallel([&](int thread, int threads) {
    float* u_data = pass.scratch + plan.u_at + thread * plan.u_size;
    const Range range = share_of(int64_t{plan.panels} * plan.row_pieces, thread, threads);
    for (int64_t piece = range.begin; piece < range.end; ++piece) {
      const int panel = static_cast<int>(piece / plan.row_pieces);
      const int block = static_cast<int>(piece % plan.row_pieces) * kPieceBlocks;
      const int blocks = std::min(kPieceBlocks, plan.row_blocks - block);
      const int64_t stride = tiles * kWinogradBlock;
      const WinogradMatrix v{pass.scratch + block * stride, plan.v_point, stride};
      const WinogradMatrix z{pass.scratch + plan.z_at + 2 * panel * stride, plan.z_point, stride};
      const WinogradPanel u{u_data, plan.u_point, columns_of(pass.p.out_c, panel)};
      for (int point = 0; point < kWinogradPoints; ++point) {
        multiply(pass, v, blocks, z, tiles, u, false, point, point + 1);
      }
      const int row = block * kWinogradBlock;
      const int rows = std::min(blocks * kWinogradBlock, pass.p.in_c - row);
      pass.kernels.transform_diff_weights(u, pass.p.weights, row, rows, panel * kWinogradPanel,
                                          pass.diff_weights);
    }
  });
}

void run_in_blocks(const Pass& pass, int64_t tiles) {
  const Plan& plan = pass.plan;
  const auto panel_at = [&](int panel) {
    return WinogradPanel{pass.scratch + plan.u_at + panel * plan.u_size, plan.u_point,
                         columns_of(pass.p.out_c, panel)};
  };
  for (int64_t b = 0; b < plan.blocks; ++b) {
    const Range block = share_of(tiles, static_cast<int>(b), static_cast<int>(plan.blocks));
    const int64_t count = block.end - block.begin;
    transform_block(pass, block.begin, count);
    parallel([&](int thread, int threads) {
      const int64_t per_point = int64_t{plan.panels} * plan.row_blocks;
      const Range range = share_of(kWinogradPoints * per_point, thread, threads);
      const int64_t stride = count * kWinogradBlock;
      int64_t next = range.begin;
      while (next < range.end) {  // runs of row blocks of one point and panel
        const int point = static_cast<int>(next / per_point);
        const int panel = static_cast<int>(next % per_point / plan.row_blocks);
        const int row_block = static_cast<int>(next % plan.row_blocks);
        const int blocks =
            static_cast<int>(std::min<int64_t>(plan.row_blocks - row_block, range.end - next));
        const WinogradMatrix v{pass.scratch + row_block * stride, plan.v_point, stride};
        const WinogradMatrix z{pass.scratch + plan.z_at + 2 * panel * stride, plan.z_point, stride};
        WinogradPanel u = panel_at(panel);
        u.data += int64_t{row_block} * kWinogradBlock * u.columns;
        multiply(pass, v, blocks, z, count, u, b > 0, point, point + 1);
        next += blocks;
      }
    });
  }
  parallel([&](int thread, int threads) {
    const Range range = share_of(int64_t{plan.panels} * plan.row_blocks, thread, threads);
    for (int64_t unit = range.begin; unit < range.end; ++unit) {
      const int panel = static_cast<int>(unit / plan.row_blocks);
      const int row = static_cast<int>(unit % plan.row_blocks) * kWinogradBlock;
      WinogradPanel u = panel_at(panel);
      u.data += int64_t{row} * u.columns;
      pass.kernels.transform_diff_weights(u, pass.p.weights, row,
                                          std::min(kWinogradBlock, pass.p.in_c - row),
                                          panel * kWinogradPanel, pass.diff_weights);
    }
  });
}

// Padding beyond the panels and beyond in_c: the transforms do not reach it.
void zero_padding(const Winograd& p, float* diff_weights) {
  const WgradLayout& l = p.weights;
  const int64_t o_done = std::min(ceil_div(p.out_c, kWinogradBlock) * kWinogradBlock, l.padded_o);
  for (int64_t i = o_done == l.padded_o ? p.in_c : 0; i < l.padded_i; ++i) {
    for (int tap = 0; tap < 9; ++tap) {
      float* row = diff_weights + tap / 3 * l.stride_h + tap % 3 * l.stride_w + i * l.stride_i;
      for (int64_t o = i < p.in_c ? o_done : 0; o < l.padded_o; ++o) {
        row[o / l.o_block * l.stride_o + o % l.o_block] = 0.0F;
      }
    }
  }
}

}  // namespace

size_t winograd_backward_weights_scratch_bytes(const Winograd& p, Isa) {
  return static_cast<size_t>(make_plan(p).floats) * 4;
}

void winograd_backward_weights(const Winograd& p, const float* src, const float* diff_dst,
                               float* diff_weights, float* diff_bias, void* scratch, Isa isa) {
  const Plan plan = make_plan(p);
  const int tiles_y = winograd_tiles_along(p.out_h);
  const int tiles_x = winograd_tiles_along(p.out_w);
  const Pass pass{p,
                  plan,
                  winograd_kernels_for(isa),
                  {src, p.in_h, p.in_w, p.in_c, tiles_y, tiles_x, -p.pad_top, -p.pad_left},
                  {diff_dst, p.out_h, p.out_w, p.out_c, tiles_y, tiles_x, 0, 0},
                  diff_weights,
                  diff_bias,
                  static_cast<float*>(scratch)};
  const int threads = thread_count();
  const int64_t sums = int64_t{plan.panels} * kWinogradPanel;
  if (diff_bias != nullptr) std::fill_n(pass.sums(0), threads * sums, 0.0F);
  const int64_t tiles = winograd_tiles(p.batch, p.out_h, p.out_w);
  if (plan.whole) {
    run_whole(pass, tiles);
  } else {
    run_in_blocks(pass, tiles);
  }
  zero_padding(p, diff_weights);
  if (diff_bias == nullptr) return;
  for (int o = 0; o < p.out_c; ++o) {
    float sum = 0;
    for (int thread = 0; thread < threads; ++thread) sum += pass.sums(thread)[o];
    diff_bias[o] = sum;
  }
}

}  // namespace syrtos::ops::native

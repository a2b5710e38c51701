#include "syrtos/ops/native/winograd.h"

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/winograd_plan.h"

// Forward and data gradient: how tiles and panels are shared out. winograd.isa.cc opens with the
// algorithm. A thread makes everything it reads itself: a line of the cache that another core has
// just written costs more than the arithmetic to fill it. Two ways through the same kernels:
//   by tiles   each thread makes U of all weights, then takes blocks of tiles, whose V and M stay
//              in its cache, and multiplies them with all of U.
//   by panels  for few tiles and many channels (4x4 images): each thread makes V of all tiles (of
//              a large block), then takes panels of 32 columns and makes their U 64 rows at a
//              time, so that U, four times the weights, never leaves the core.

namespace syrtos::ops::native {
namespace {

// V and M of a block of tiles: half of a second-level cache of 1 MB, the rest is for U.
constexpr int64_t kBlockBytes = int64_t{512} << 10;
// Rows of the register tile: blocks of tiles are multiples of it, where that is possible.
constexpr int64_t kTileRows = 14;
// By panels, M of a block of tiles for one panel must leave room for U.
constexpr int64_t kPanelTiles = 112;
constexpr int kPanelRows = 64;
// A larger U does not stay in the last-level cache from one block of tiles to the next.
constexpr int64_t kCachedWeights = int64_t{12} << 20;
// Cycles, for the choice between the ways: to transform a vector of V and of U, to read one of U
// from memory.
constexpr int64_t kSrcCycles = 400;
constexpr int64_t kWeightsCycles = 170;
constexpr int64_t kFetchCycles = 12;

// A forward convolution, or a data gradient seen as one.
struct Pass {
  WinogradImages<const float> src;
  WinogradImages<float> dst;
  WinogradWeights weights;
  const float* bias;
  bool relu;
  int64_t tiles;
};

struct Plan {
  bool by_panels = false;
  int row_blocks = 0;  // blocks of 16 input channels
  int panels = 0;      // of 32 output channels
  int64_t blocks = 1;  // of tiles
  int64_t block_tiles = 0;
  int64_t u_rows = 0;
  // Floats from point to point, and of all points: V and M of one block of tiles, U of one panel.
  int64_t v_point = 0;
  int64_t m_point = 0;
  int64_t u_point = 0;
  int64_t v_size = 0;
  int64_t m_size = 0;
  int64_t u_size = 0;
  int64_t thread_floats = 0;
};

bool prefers_panels(const Plan& plan, int64_t tiles, int64_t tile_blocks, int64_t threads) {
  const int64_t vectors = int64_t{plan.row_blocks} * plan.panels * 2 * kWinogradBlock;
  const int64_t src = plan.row_blocks * kSrcCycles;
  const int64_t products = kWinogradPoints * vectors;
  int64_t by_tiles = vectors * kWeightsCycles + ceil_div(tiles, threads) * (products + src);
  if (products * 64 > kCachedWeights) {
    by_tiles += ceil_div(tile_blocks, threads) * products * kFetchCycles;
  }
  const int64_t weights = ceil_div(tiles, kPanelTiles) * vectors * kWeightsCycles;
  const int64_t by_panels =
      tiles * src + (weights + tiles * products) * ceil_div(plan.panels, threads) / plan.panels;
  return by_panels < by_tiles;
}

Plan make_plan(int64_t tiles, int rows, int columns, int64_t threads) {
  Plan plan;
  plan.row_blocks = static_cast<int>(ceil_div(rows, kWinogradBlock));
  plan.panels = static_cast<int>(ceil_div(columns, kWinogradPanel));
  const int64_t padded_rows = int64_t{plan.row_blocks} * kWinogradBlock;
  const int64_t tile_bytes = 4 * kWinogradPoints * (padded_rows + kWinogradPanel);
  const int64_t most = std::max(kBlockBytes / tile_bytes / kTileRows, int64_t{1}) * kTileRows;
  const int64_t tile_blocks = ceil_div(ceil_div(tiles, most), threads) * threads;
  plan.by_panels = prefers_panels(plan, tiles, tile_blocks, threads);
  plan.blocks = plan.by_panels ? ceil_div(tiles, kPanelTiles) : tile_blocks;
  plan.block_tiles = ceil_div(tiles, plan.blocks);
  plan.u_rows = plan.by_panels ? std::min<int64_t>(padded_rows, kPanelRows) : padded_rows;
  plan.v_point = odd_lines(plan.block_tiles * padded_rows);
  plan.m_point = odd_lines(plan.block_tiles * kWinogradPanel);
  plan.u_point = odd_lines(plan.u_rows * kWinogradPanel);
  plan.v_size = plan.v_point * kWinogradPoints;
  plan.m_size = plan.m_point * kWinogradPoints;
  plan.u_size = plan.u_point * kWinogradPoints;
  plan.thread_floats = plan.v_size + plan.m_size + (plan.by_panels ? 1 : plan.panels) * plan.u_size;
  return plan;
}

Range tiles_of(const Pass& pass, const Plan& plan, int64_t block) {
  return share_of(pass.tiles, static_cast<int>(block), static_cast<int>(plan.blocks));
}

// One thread's part of the work, with its own scratch.
void run_by_tiles(const Pass& pass, const Plan& plan, const WinogradKernels& kernels, Range blocks,
                  float* scratch) {
  float* u_data = scratch + plan.v_size + plan.m_size;
  const auto panel_at = [&](int panel) {
    return WinogradPanel{u_data + panel * plan.u_size, plan.u_point, columns_of(pass.dst.c, panel)};
  };
  for (int panel = 0; panel < plan.panels && blocks.begin < blocks.end; ++panel) {
    kernels.transform_weights(pass.weights, 0, static_cast<int>(plan.u_rows),
                              panel * kWinogradPanel, panel_at(panel));
  }
  for (int64_t block = blocks.begin; block < blocks.end; ++block) {
    const Range tiles = tiles_of(pass, plan, block);
    const int64_t count = tiles.end - tiles.begin;
    if (count == 0) continue;
    const WinogradMatrix v{scratch, plan.v_point, count * kWinogradBlock};
    const WinogradMatrix m{scratch + plan.v_size, plan.m_point, count * kWinogradBlock};
    kernels.transform_src(pass.src, tiles.begin, count, 0, pass.src.c, v);
    for (int panel = 0; panel < plan.panels; ++panel) {
      WinogradAhead ahead{nullptr, 0};
      if (panel == 0) {
        ahead = rows_of(pass.dst, tiles);
      } else if (panel == 1 && block + 1 < blocks.end) {
        ahead = rows_of(pass.src, tiles_of(pass, plan, block + 1));
      }
      const WinogradPanel u = panel_at(panel);
      kernels.multiply(v, count, plan.row_blocks, u, m, false, ahead);
      kernels.transform_dst(m, pass.dst, tiles.begin, count, panel * kWinogradPanel, u.columns,
                            pass.bias, pass.relu);
    }
  }
}

void run_by_panels(const Pass& pass, const Plan& plan, const WinogradKernels& kernels, Range panels,
                   float* scratch) {
  constexpr int kStep = kPanelRows / kWinogradBlock;
  if (panels.begin == panels.end) return;
  for (int64_t block = 0; block < plan.blocks; ++block) {
    const Range tiles = tiles_of(pass, plan, block);
    const int64_t count = tiles.end - tiles.begin;
    const WinogradMatrix v{scratch, plan.v_point, count * kWinogradBlock};
    const WinogradMatrix m{scratch + plan.v_size, plan.m_point, count * kWinogradBlock};
    kernels.transform_src(pass.src, tiles.begin, count, 0, pass.src.c, v);
    for (auto panel = static_cast<int>(panels.begin); panel < panels.end; ++panel) {
      const int column = panel * kWinogradPanel;
      const WinogradPanel u{m.data + plan.m_size, plan.u_point, columns_of(pass.dst.c, panel)};
      for (int first = 0; first < plan.row_blocks; first += kStep) {
        const int step = std::min(kStep, plan.row_blocks - first);
        kernels.transform_weights(pass.weights, first * kWinogradBlock, step * kWinogradBlock,
                                  column, u);
        const WinogradMatrix part{v.data + first * v.stride_block, v.stride_point, v.stride_block};
        kernels.multiply(part, count, step, u, m, first > 0, {nullptr, 0});
      }
      kernels.transform_dst(m, pass.dst, tiles.begin, count, column, u.columns, pass.bias,
                            pass.relu);
    }
  }
}

void run(const Pass& pass, void* scratch, Isa isa) {
  const int shares = thread_count();
  const Plan plan = make_plan(pass.tiles, pass.src.c, pass.dst.c, shares);
  const WinogradKernels& kernels = winograd_kernels_for(isa);
  for_each_share(shares, [&](int share) {
    float* own = static_cast<float*>(scratch) + share * plan.thread_floats;
    if (plan.by_panels) {
      run_by_panels(pass, plan, kernels, share_of(plan.panels, share, shares), own);
    } else {
      run_by_tiles(pass, plan, kernels, share_of(plan.blocks, share, shares), own);
    }
  });
}

size_t scratch_bytes(int64_t tiles, int rows, int columns) {
  const int64_t threads = thread_count();
  return static_cast<size_t>(make_plan(tiles, rows, columns, threads).thread_floats * threads * 4);
}

void check(const Winograd& p) {
  SYRTOS_CHECK(winograd_supported(p), "[winograd] images of {}x{}, i_pack {}, o_block {}", p.out_h,
               p.out_w, p.weights.i_pack, p.weights.o_block);
}

}  // namespace

bool winograd_supported(const Winograd& p) {
  const WgradLayout& l = p.weights;
  if (p.batch < 1 || p.in_h < 1 || p.in_w < 1 || p.in_c < 1) return false;
  if (p.out_h < 1 || p.out_w < 1 || p.out_c < 1) return false;
  constexpr int64_t kMaxPixels = int64_t{1} << 28;  // counted in int, with room for small factors
  if (int64_t{p.batch} * p.in_h > kMaxPixels / p.in_w) return false;
  if (int64_t{p.batch} * p.out_h > kMaxPixels / p.out_w) return false;
  if (l.o_block < 1 || l.i_pack != 1) return false;
  if (l.padded_o < p.out_c || l.padded_o % l.o_block != 0 || l.padded_i < p.in_c) return false;
  const int64_t last = (l.padded_o / l.o_block - 1) * l.stride_o + (l.padded_i - 1) * l.stride_i +
                       2 * l.stride_h + 2 * l.stride_w + l.o_block;
  return last == l.padded_o * l.padded_i * 9;
}

const WinogradKernels& winograd_kernels_for(Isa isa) {
#if defined(__x86_64__)
  return select_kernels(isa, generic::winograd_kernels, avx2::winograd_kernels,
                        avx512::winograd_kernels, avx512_bf16::winograd_kernels);
#else
  (void)isa;
  return generic::winograd_kernels;
#endif
}

size_t winograd_forward_scratch_bytes(const Winograd& p, Isa) {
  check(p);
  return scratch_bytes(winograd_tiles(p.batch, p.out_h, p.out_w), p.in_c, p.out_c);
}

size_t winograd_backward_data_scratch_bytes(const Winograd& p, Isa) {
  check(p);
  return scratch_bytes(winograd_tiles(p.batch, p.in_h, p.in_w), p.out_c, p.in_c);
}

void winograd_forward(const Winograd& p, const float* src, const float* weights, const float* bias,
                      bool relu, float* dst, void* scratch, Isa isa) {
  check(p);
  const int tiles_y = winograd_tiles_along(p.out_h);
  const int tiles_x = winograd_tiles_along(p.out_w);
  const Pass pass{{src, p.in_h, p.in_w, p.in_c, tiles_y, tiles_x, -p.pad_top, -p.pad_left},
                  {dst, p.out_h, p.out_w, p.out_c, tiles_y, tiles_x, 0, 0},
                  {weights, &p.weights, p.in_c, p.out_c, false},
                  bias,
                  relu,
                  winograd_tiles(p.batch, p.out_h, p.out_w)};
  run(pass, scratch, isa);
}

void winograd_backward_data(const Winograd& p, const float* diff_dst, const float* weights,
                            float* diff_src, void* scratch, Isa isa) {
  check(p);
  const int tiles_y = winograd_tiles_along(p.in_h);
  const int tiles_x = winograd_tiles_along(p.in_w);
  // With the kernel rotated, an image padded by 2 - pad takes the gradient's part.
  const Pass pass{
      {diff_dst, p.out_h, p.out_w, p.out_c, tiles_y, tiles_x, p.pad_top - 2, p.pad_left - 2},
      {diff_src, p.in_h, p.in_w, p.in_c, tiles_y, tiles_x, 0, 0},
      {weights, &p.weights, p.in_c, p.out_c, true},
      nullptr,
      false,
      winograd_tiles(p.batch, p.in_h, p.in_w)};
  run(pass, scratch, isa);
}

}  // namespace syrtos::ops::native

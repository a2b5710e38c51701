#include "syrtos/ops/native/winograd.h"

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/winograd_plan.h"

// Forward and data gradient: how tiles and panels are shared out. winograd.isa.cc opens with the
// algorithm. Two ways through the same kernels:
//   by tiles   U of all weights first, in the shared cache; then each thread takes blocks of
//              tiles, whose V and M stay in its own cache, and multiplies them with all of U.
//   by panels  for few tiles and many channels (4x4 images): V of all tiles first; then each
//              thread takes panels of 32 columns and makes their U itself, 64 rows at a time, so
//              that U, four times the weights, never leaves the core.

namespace syrtos::ops::native {
namespace {

// V and M of a block of tiles: half of a second-level cache of 1 MB, the rest is for U.
constexpr int64_t kBlockBytes = int64_t{512} << 10;
// Rows of the register tile: blocks of tiles are multiples of it, where that is possible.
constexpr int64_t kTileRows = 14;
// A U of this size stays in the core's cache; with this many tiles per thread it is cheaper to make
// there than to fetch from the cores that made it.
constexpr int64_t kOwnWeightsBytes = int64_t{640} << 10;
constexpr int64_t kOwnWeightsTiles = 56;
// M of all tiles for one panel must leave room for U.
constexpr int64_t kPanelTiles = 112;
constexpr int kPanelRows = 64;

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
  bool own_weights = false;  // by tiles: each thread makes its own U
  int row_blocks = 0;        // blocks of 16 input channels
  int panels = 0;            // of 32 output channels
  int64_t blocks = 1;        // of tiles
  int64_t block_tiles = 0;
  int64_t v_point = 0;
  int64_t m_point = 0;
  int64_t u_point = 0;
  // Floats: V, M and U of one thread, one block of tiles, or one panel, as the way needs them.
  int64_t v_size = 0;
  int64_t m_size = 0;
  int64_t u_size = 0;
  int64_t floats = 0;
};

int columns_of(int channels, int panel) {
  return channels - panel * kWinogradPanel > kWinogradBlock ? kWinogradPanel : kWinogradBlock;
}

Plan make_plan(int64_t tiles, int rows, int columns, int64_t threads) {
  Plan plan;
  plan.row_blocks = static_cast<int>(ceil_div(rows, kWinogradBlock));
  plan.panels = static_cast<int>(ceil_div(columns, kWinogradPanel));
  plan.by_panels = tiles <= kPanelTiles && plan.panels % threads == 0;
  const int64_t padded_rows = int64_t{plan.row_blocks} * kWinogradBlock;
  plan.block_tiles = tiles;
  int64_t u_rows = std::min<int64_t>(padded_rows, kPanelRows);
  if (!plan.by_panels) {
    const int64_t tile_bytes = 4 * kWinogradPoints * (padded_rows + kWinogradPanel);
    int64_t most = std::max<int64_t>(kBlockBytes / tile_bytes, kTileRows);
    most -= most % kTileRows;
    plan.blocks = ceil_div(ceil_div(tiles, most), threads) * threads;
    plan.block_tiles = ceil_div(tiles, plan.blocks);
    u_rows = padded_rows;
  }
  plan.v_point = odd_lines(plan.block_tiles * padded_rows);
  plan.m_point = odd_lines(plan.block_tiles * kWinogradPanel);
  plan.u_point = odd_lines(u_rows * kWinogradPanel);
  plan.v_size = plan.v_point * kWinogradPoints;
  plan.m_size = plan.m_point * kWinogradPoints;
  plan.u_size = plan.u_point * kWinogradPoints;
  const int64_t u_all = plan.panels * plan.u_size;
  plan.own_weights =
      !plan.by_panels && u_all * 4 <= kOwnWeightsBytes && tiles >= kOwnWeightsTiles * threads;
  plan.floats = plan.by_panels ? plan.v_size + threads * (plan.m_size + plan.u_size)
                               : (plan.own_weights ? threads : 1) * u_all +
                                     threads * (plan.v_size + plan.m_size);
  return plan;
}

// The rows of the images that some tiles begin in.
template <typename Float>
WinogradAhead rows_of(const WinogradImages<Float>& images, Range tiles) {
  const auto row = [&](int64_t tile) {
    const int64_t line = tile / images.tiles_x;
    const int64_t y = line % images.tiles_y * kWinogradOut;
    return line / images.tiles_y * images.h + std::min<int64_t>(y, images.h);
  };
  const int64_t first = row(tiles.begin);
  const int64_t last = row(tiles.end - 1 + images.tiles_x);
  const int64_t line = int64_t{images.w} * images.c;
  return {images.data + first * line, (last - first) * line};
}

// Panels of U, one after the other: the rows of `units` from `begin` to `end`, each 16 rows of one
// panel.
void transform_weights(const Pass& pass, const Plan& plan, const WinogradKernels& kernels,
                       Range units, float* u) {
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const int panel = static_cast<int>(unit / plan.row_blocks);
    const int row = static_cast<int>(unit % plan.row_blocks) * kWinogradBlock;
    const int columns = columns_of(pass.dst.c, panel);
    kernels.transform_weights(
        pass.weights, row, kWinogradBlock, panel * kWinogradPanel,
        {u + panel * plan.u_size + int64_t{row} * columns, plan.u_point, columns});
  }
}

// One thread's blocks of tiles, with all of U.
void run_blocks(const Pass& pass, const Plan& plan, const WinogradKernels& kernels, Range blocks,
                float* u, float* v_data) {
  const auto tiles_of = [&](int64_t block) {
    return share_of(pass.tiles, static_cast<int>(block), static_cast<int>(plan.blocks));
  };
  for (int64_t block = blocks.begin; block < blocks.end; ++block) {
    const Range tiles = tiles_of(block);
    const int64_t count = tiles.end - tiles.begin;
    if (count == 0) continue;
    const WinogradMatrix v{v_data, plan.v_point, count * kWinogradBlock};
    const WinogradMatrix m{v_data + plan.v_size, plan.m_point, count * kWinogradBlock};
    kernels.transform_src(pass.src, tiles.begin, count, v);
    for (int panel = 0; panel < plan.panels; ++panel) {
      WinogradAhead ahead{nullptr, 0};
      if (panel == 0) {
        ahead = rows_of(pass.dst, tiles);
      } else if (panel == 1 && block + 1 < blocks.end) {
        ahead = rows_of(pass.src, tiles_of(block + 1));
      }
      const int columns = columns_of(pass.dst.c, panel);
      kernels.multiply(v, count, plan.row_blocks, {u + panel * plan.u_size, plan.u_point, columns},
                       m, false, ahead);
      kernels.transform_dst(m, pass.dst, tiles.begin, count, panel * kWinogradPanel, columns,
                            pass.bias, pass.relu);
    }
  }
}

void run_by_tiles(const Pass& pass, const Plan& plan, const WinogradKernels& kernels,
                  float* scratch) {
  const int64_t u_all = plan.panels * plan.u_size;
  const int64_t units = int64_t{plan.panels} * plan.row_blocks;
  if (!plan.own_weights) {
    parallel([&](int thread, int threads) {
      transform_weights(pass, plan, kernels, share_of(units, thread, threads), scratch);
    });
  }
  parallel([&](int thread, int threads) {
    float* u = scratch;
    float* own = scratch + u_all + thread * (plan.v_size + plan.m_size);
    if (plan.own_weights) {
      u = scratch + thread * (u_all + plan.v_size + plan.m_size);
      own = u + u_all;
      transform_weights(pass, plan, kernels, {0, units}, u);
    }
    run_blocks(pass, plan, kernels, share_of(plan.blocks, thread, threads), u, own);
  });
}

void run_by_panels(const Pass& pass, const Plan& plan, const WinogradKernels& kernels,
                   float* scratch) {
  const WinogradMatrix v{scratch, plan.v_point, pass.tiles * kWinogradBlock};
  parallel([&](int thread, int threads) {
    const Range range = share_of(pass.tiles, thread, threads);
    WinogradMatrix part = v;
    part.data += range.begin * kWinogradBlock;
    kernels.transform_src(pass.src, range.begin, range.end - range.begin, part);
  });
  parallel([&](int thread, int threads) {
    float* m_data = scratch + plan.v_size + thread * (plan.m_size + plan.u_size);
    const WinogradMatrix m{m_data, plan.m_point, pass.tiles * kWinogradBlock};
    const Range panels = share_of(plan.panels, thread, threads);
    for (auto panel = static_cast<int>(panels.begin); panel < panels.end; ++panel) {
      const int column = panel * kWinogradPanel;
      const WinogradPanel u{m_data + plan.m_size, plan.u_point, columns_of(pass.dst.c, panel)};
      for (int block = 0; block < plan.row_blocks; block += kPanelRows / kWinogradBlock) {
        const int count = std::min(kPanelRows / kWinogradBlock, plan.row_blocks - block);
        kernels.transform_weights(pass.weights, block * kWinogradBlock, count * kWinogradBlock,
                                  column, u);
        WinogradMatrix part = v;
        part.data += block * v.stride_block;
        kernels.multiply(part, pass.tiles, count, u, m, block > 0, {nullptr, 0});
      }
      kernels.transform_dst(m, pass.dst, 0, pass.tiles, column, u.columns, pass.bias, pass.relu);
    }
  });
}

void run(const Pass& pass, void* scratch, Isa isa) {
  const Plan plan = make_plan(pass.tiles, pass.src.c, pass.dst.c, thread_count());
  const WinogradKernels& kernels = winograd_kernels_for(isa);
  auto* floats = static_cast<float*>(scratch);
  if (plan.by_panels) {
    run_by_panels(pass, plan, kernels, floats);
  } else {
    run_by_tiles(pass, plan, kernels, floats);
  }
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
  const int64_t tiles = winograd_tiles(p.batch, p.out_h, p.out_w);
  return static_cast<size_t>(make_plan(tiles, p.in_c, p.out_c, thread_count()).floats) * 4;
}

size_t winograd_backward_data_scratch_bytes(const Winograd& p, Isa) {
  check(p);
  const int64_t tiles = winograd_tiles(p.batch, p.in_h, p.in_w);
  return static_cast<size_t>(make_plan(tiles, p.out_c, p.in_c, thread_count()).floats) * 4;
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

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/winograd_plan.h"

// The weight gradient: how the products over tiles are shared out. winograd.isa.cc opens with the
// algorithm. V and Z are the transformed src and diff_dst, dU[point] (in_c x out_c) the sum over
// tiles of V[point]^T Z[point], which at last becomes diff_weights. As in winograd.cc a thread
// makes the V and Z it reads itself. Two ways:
//   by tiles   for few channels: each thread takes blocks of tiles and adds their products to a dU
//              of its own; the copies are summed at the end.
//   by pieces  each thread takes pieces of dU, 64 input x 32 output channels, and transforms those
//              channels of all tiles: the products of a piece are complete and become
//              diff_weights at once. Tiles go in blocks, usually one.

namespace syrtos::ops::native {
namespace {

// By tiles, V and Z of a block beside dU in the second-level cache.
constexpr int64_t kTilesBlockBytes = int64_t{512} << 10;
constexpr int64_t kTilesLeast = 28;
// By pieces, V and Z of a block: little more than the second-level cache, but not less than dU,
// which is read and written once per block.
constexpr int64_t kPiecesBlockBytes = int64_t{1536} << 10;
// Tiles that one product sums over: panels of this height stay in the first-level cache.
constexpr int64_t kDepth = 192;
constexpr int kPieceBlocks = 4;  // of 16 input channels
constexpr int kPieceRows = kPieceBlocks * kWinogradBlock;
// Cycles, for the choice between the ways: to transform a vector of V or Z, and to fetch a line
// of the cache from another core.
constexpr int64_t kImageCycles = 400;
constexpr int64_t kFetchCycles = 100;

struct Plan {
  bool by_tiles = false;
  int shares = 1;
  int row_blocks = 0;  // of 16 input channels
  int panels = 0;      // of 32 output channels
  int row_pieces = 0;
  int64_t blocks = 1;  // of tiles
  int64_t block_tiles = 0;
  int64_t v_point = 0;
  int64_t z_point = 0;
  int64_t u_point = 0;
  int64_t u_size = 0;  // of a panel or a piece
  // Offsets in floats, in each thread's part of the scratch.
  int64_t z_at = 0;
  int64_t u_at = 0;
  int64_t sums_at = 0;
  int64_t thread_floats = 0;
};

bool prefers_tiles(const Plan& plan, int64_t tiles, int64_t threads) {
  const int64_t vectors = int64_t{plan.row_blocks} * plan.panels * 2 * kWinogradBlock;
  const int64_t products = kWinogradPoints * vectors;
  const int64_t pieces = int64_t{plan.row_pieces} * plan.panels;
  const int64_t rows = plan.row_blocks * kImageCycles;
  const int64_t columns = plan.panels * 2 * kImageCycles;
  // Adding to dU for each block costs about a sixteenth; fetching the others' parts of dU follows.
  const int64_t by_tiles = ceil_div(tiles, threads) * (products + products / 16 + rows + columns) +
                           products * kFetchCycles * (threads - 1) / threads;
  const int64_t own = ceil_div(pieces, threads);
  const int64_t by_pieces =
      tiles * (products * own / pieces + std::min(own * kPieceBlocks * kImageCycles, rows) +
               ceil_div(own, plan.row_pieces) * 2 * kImageCycles);
  return by_tiles < by_pieces;
}

Plan make_plan(const Winograd& p) {
  SYRTOS_CHECK(winograd_supported(p), "[winograd] images of {}x{}, i_pack {}, o_block {}", p.out_h,
               p.out_w, p.weights.i_pack, p.weights.o_block);
  const int64_t tiles = winograd_tiles(p.batch, p.out_h, p.out_w);
  Plan plan;
  plan.shares = thread_count();
  plan.row_blocks = static_cast<int>(ceil_div(p.in_c, kWinogradBlock));
  plan.panels = static_cast<int>(ceil_div(p.out_c, kWinogradPanel));
  plan.row_pieces = static_cast<int>(ceil_div(plan.row_blocks, kPieceBlocks));
  const int64_t threads = plan.shares;
  plan.by_tiles = prefers_tiles(plan, tiles, threads);
  const int64_t rows = int64_t{plan.row_blocks} * kWinogradBlock;
  const int64_t all_columns = int64_t{plan.panels} * kWinogradPanel;
  // By pieces: the most that one thread gets; a share may touch one panel more than it fills.
  const int64_t pieces = ceil_div(int64_t{plan.row_pieces} * plan.panels, threads);
  const int64_t own_panels =
      std::min<int64_t>(ceil_div(pieces - 1, plan.row_pieces) + 1, plan.panels);
  const int64_t columns = plan.by_tiles ? all_columns : own_panels * kWinogradPanel;
  const int64_t tile_bytes = 4 * kWinogradPoints * (rows + columns);
  if (plan.by_tiles) {
    const int64_t most = std::max(kTilesBlockBytes / tile_bytes, kTilesLeast);
    plan.blocks = ceil_div(ceil_div(tiles, most), threads) * threads;
  } else {
    const int64_t du_bytes = pieces * 4 * kWinogradPoints * kPieceRows * kWinogradPanel;
    const int64_t most = std::max(kPiecesBlockBytes, du_bytes) / tile_bytes;
    plan.blocks = ceil_div(tiles, std::max(most, 2 * kTilesLeast));
  }
  plan.block_tiles = ceil_div(tiles, plan.blocks);
  plan.v_point = odd_lines(plan.block_tiles * rows);
  plan.z_point = odd_lines(plan.block_tiles * columns);
  plan.u_point = odd_lines((plan.by_tiles ? rows : kPieceRows) * kWinogradPanel);
  plan.u_size = plan.u_point * kWinogradPoints;
  plan.z_at = plan.v_point * kWinogradPoints;
  plan.u_at = plan.z_at + plan.z_point * kWinogradPoints;
  const int64_t copies = plan.by_tiles ? plan.panels : plan.blocks > 1 ? pieces : 1;
  plan.sums_at = plan.u_at + copies * plan.u_size;
  plan.thread_floats = plan.sums_at + all_columns;
  return plan;
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
  int64_t tiles;

  float* own(int share) const { return scratch + share * plan.thread_floats; }
  Range tiles_of(int64_t block) const {
    return share_of(tiles, static_cast<int>(block), static_cast<int>(plan.blocks));
  }
};

// One thread's blocks of tiles, into its own dU.
void add_blocks(const Pass& pass, Range blocks, float* scratch) {
  const Plan& plan = pass.plan;
  float* sums = pass.diff_bias != nullptr ? scratch + plan.sums_at : nullptr;
  for (int64_t block = blocks.begin; block < blocks.end; ++block) {
    const Range tiles = pass.tiles_of(block);
    const int64_t count = tiles.end - tiles.begin;
    const int64_t stride = count * kWinogradBlock;
    const WinogradMatrix v{scratch, plan.v_point, stride};
    const WinogradMatrix z{scratch + plan.z_at, plan.z_point, stride};
    pass.kernels.transform_src(pass.src, tiles.begin, count, 0, pass.p.in_c, v);
    pass.kernels.transform_diff_dst(pass.diff_dst, tiles.begin, count, 0, pass.p.out_c, z, sums);
    for (int panel = 0; panel < plan.panels; ++panel) {
      WinogradAhead ahead{nullptr, 0};
      if (panel < 2 && block + 1 < blocks.end) {
        ahead = rows_of(panel == 0 ? pass.src : pass.diff_dst, pass.tiles_of(block + 1));
      }
      pass.kernels.multiply_transposed(v, plan.row_blocks,
                                       {z.data + 2 * panel * stride, plan.z_point, stride}, count,
                                       {scratch + plan.u_at + panel * plan.u_size, plan.u_point,
                                        columns_of(pass.p.out_c, panel)},
                                       block > blocks.begin, 0, kWinogradPoints, ahead);
    }
  }
}

void run_by_tiles(const Pass& pass) {
  const Plan& plan = pass.plan;
  for_each_share(plan.shares, [&](int share) {
    add_blocks(pass, share_of(plan.blocks, share, plan.shares), pass.own(share));
  });
  for_each_share(plan.shares, [&](int share) {
    const int64_t all = int64_t{plan.panels} * plan.row_blocks;
    const Range units = share_of(all, share, plan.shares);
    for (int64_t unit = units.begin; unit < units.end; ++unit) {
      const int panel = static_cast<int>(unit / plan.row_blocks);
      const int row = static_cast<int>(unit % plan.row_blocks) * kWinogradBlock;
      const int columns = columns_of(pass.p.out_c, panel);
      float* u = pass.scratch + plan.u_at + panel * plan.u_size + int64_t{row} * columns;
      for (int k = 0; k < (plan.shares - 1) * kWinogradPoints; ++k) {
        float* sum = u + k % kWinogradPoints * plan.u_point;
        const float* part = sum + (1 + k / kWinogradPoints) * plan.thread_floats;
        for (int j = 0; j < kWinogradBlock * columns; ++j) sum[j] += part[j];
      }
      pass.kernels.transform_diff_weights({u, plan.u_point, columns}, pass.p.weights, row,
                                          std::min(kWinogradBlock, pass.p.in_c - row),
                                          panel * kWinogradPanel, pass.diff_weights);
    }
  });
}

// One piece's products of one block of tiles, in parts that stay in the first-level cache.
void add_piece(const Pass& pass, const WinogradMatrix& v, int blocks, const WinogradMatrix& z,
               int64_t tiles, const WinogradPanel& u, bool accumulate) {
  const int64_t parts = ceil_div(tiles, kDepth);
  for (int point = 0; point < kWinogradPoints; ++point) {
    for (int64_t part = 0; part < parts; ++part) {
      const Range range = share_of(tiles, static_cast<int>(part), static_cast<int>(parts));
      const int64_t at = range.begin * kWinogradBlock;
      pass.kernels.multiply_transposed({v.data + at, v.stride_point, v.stride_block}, blocks,
                                       {z.data + at, z.stride_point, z.stride_block},
                                       range.end - range.begin, u, accumulate || part > 0, point,
                                       point + 1, {nullptr, 0});
    }
  }
}

// One thread's pieces, numbered panel by panel.
void run_by_pieces(const Pass& pass, Range pieces, float* scratch) {
  const Plan& plan = pass.plan;
  const Winograd& p = pass.p;
  if (pieces.begin == pieces.end) return;
  const auto first_panel = static_cast<int>(pieces.begin / plan.row_pieces);
  const auto last_panel = static_cast<int>((pieces.end - 1) / plan.row_pieces);
  int first_row = 0;
  int end_row = p.in_c;
  if (first_panel == last_panel) {
    first_row = static_cast<int>(pieces.begin % plan.row_pieces) * kPieceRows;
    end_row =
        std::min(first_row + static_cast<int>(pieces.end - pieces.begin) * kPieceRows, p.in_c);
  }
  for (int64_t block = 0; block < plan.blocks; ++block) {
    const Range tiles = pass.tiles_of(block);
    const int64_t count = tiles.end - tiles.begin;
    const int64_t stride = count * kWinogradBlock;
    pass.kernels.transform_src(pass.src, tiles.begin, count, first_row, end_row,
                               {scratch, plan.v_point, stride});
    for (int panel = first_panel; panel <= last_panel; ++panel) {
      // The thread with a panel's first piece sums its gradients for diff_bias.
      const bool sums = pass.diff_bias != nullptr && pieces.begin <= panel * plan.row_pieces;
      const int column = panel * kWinogradPanel;
      pass.kernels.transform_diff_dst(
          pass.diff_dst, tiles.begin, count, column, std::min(column + kWinogradPanel, p.out_c),
          {scratch + plan.z_at + 2 * (panel - first_panel) * stride, plan.z_point, stride},
          sums ? scratch + plan.sums_at : nullptr);
    }
    for (int64_t piece = pieces.begin; piece < pieces.end; ++piece) {
      const auto panel = static_cast<int>(piece / plan.row_pieces);
      const auto row = static_cast<int>(piece % plan.row_pieces) * kPieceRows;
      const int rows = std::min(kPieceRows, p.in_c - row);
      const int64_t slot = plan.blocks > 1 ? piece - pieces.begin : 0;
      const WinogradPanel u{scratch + plan.u_at + slot * plan.u_size, plan.u_point,
                            columns_of(p.out_c, panel)};
      add_piece(pass, {scratch + (row - first_row) / kWinogradBlock * stride, plan.v_point, stride},
                static_cast<int>(ceil_div(rows, kWinogradBlock)),
                {scratch + plan.z_at + 2 * (panel - first_panel) * stride, plan.z_point, stride},
                count, u, block > 0);
      if (block + 1 < plan.blocks) continue;
      pass.kernels.transform_diff_weights(u, p.weights, row, rows, panel * kWinogradPanel,
                                          pass.diff_weights);
    }
  }
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
  const Plan plan = make_plan(p);
  return static_cast<size_t>(plan.thread_floats * plan.shares * 4);
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
                  static_cast<float*>(scratch),
                  winograd_tiles(p.batch, p.out_h, p.out_w)};
  for (int share = 0; share < plan.shares && diff_bias != nullptr; ++share) {
    std::fill_n(pass.own(share) + plan.sums_at, plan.panels * kWinogradPanel, 0.0F);
  }
  if (plan.by_tiles) {
    run_by_tiles(pass);
  } else {
    const int64_t pieces = int64_t{plan.panels} * plan.row_pieces;
    for_each_share(plan.shares, [&](int share) {
      run_by_pieces(pass, share_of(pieces, share, plan.shares), pass.own(share));
    });
  }
  zero_padding(p, diff_weights);
  for (int o = 0; o < p.out_c && diff_bias != nullptr; ++o) {
    diff_bias[o] = 0;
    for (int share = 0; share < plan.shares; ++share) {
      diff_bias[o] += pass.own(share)[plan.sums_at + o];
    }
  }
}

}  // namespace syrtos::ops::native

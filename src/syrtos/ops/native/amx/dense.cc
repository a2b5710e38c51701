#include "syrtos/ops/native/amx/dense.h"

#include <algorithm>
#include <cstring>

#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/amx/gather.h"
#include "syrtos/ops/native/amx/kernels.h"
#include "syrtos/ops/native/amx/tiles.h"

// Forward, the rows of the weights are the rows of tiles, read where they lie, and src is packed;
// so the result comes out transposed and is turned while it is stored. The data gradient takes the
// weights in blocks that fit a core's second cache and brings each into pairs of rows; its sums
// stay in that cache. The gradient of weights needs both activations packed and streams what it
// stores.

namespace syrtos::ops::native {

using namespace amx;

namespace {

constexpr int kBlockIn = 512;   // columns of the weights in a block of the data gradient
constexpr int kBlockOut = 256;  // and rows

int64_t k_blocks(int64_t k) { return ceil_div(k, kTileDepth); }

/// 16 rows of a matrix from `first` on, null beyond its end.
struct Rows {
  const uint16_t* at[16];
  Rows(const uint16_t* matrix, int64_t first, int64_t count, int64_t pitch) {
    for (int64_t i = 0; i < 16; ++i) {
      at[i] = first + i < count ? matrix + (first + i) * pitch : nullptr;
    }
  }
};

/// Pairs of rows (2 i, 2 i + 1), null beyond the end.
struct RowPairs {
  const uint16_t* first[16];
  const uint16_t* second[16];
  RowPairs(const uint16_t* matrix, int64_t begin, int64_t count, int64_t pitch) {
    for (int64_t i = 0; i < 16; ++i) {
      const int64_t row = begin + 2 * i;
      first[i] = row < count ? matrix + row * pitch : nullptr;
      second[i] = row + 1 < count ? matrix + (row + 1) * pitch : nullptr;
    }
  }
};

}  // namespace

bool amx_dense_should_use(const AmxDense& p) {
  // Rows of weights must begin at whole lines; small layers are not worth the packing.
  return p.in % 32 == 0 && int64_t{p.in} * p.out >= (16 << 10) && amx_usable();
}

size_t amx_dense_forward_scratch_bytes(const AmxDense& p) {
  return static_cast<size_t>(k_blocks(p.in) * ceil_div(p.batch, 16) * kTileBytes);
}

void amx_dense_forward(const AmxDense& p, const uint16_t* src, const uint16_t* weights,
                       const float* bias, bool relu, uint16_t* dst, float* dst_f32, void* scratch) {
  auto* packed = static_cast<char*>(scratch);
  const int64_t m_tiles = ceil_div(p.batch, 16);
  parallel_for(k_blocks(p.in), 1, 2, [&](int64_t begin, int64_t end) {
    for (int64_t tile = 0; tile < m_tiles; ++tile) {
      const Rows rows(src, tile * 16, p.batch, p.in);
      for (int64_t k = begin; k < end; ++k) {
        transpose_columns(rows.at, static_cast<int>(k * 32), 32,
                          packed + (k * m_tiles + tile) * kTileBytes);
      }
    }
  });
  parallel([&](int thread, int threads) {
    TileState state;
    const Range own = share_of(ceil_div(p.out, 16), thread, threads);
    for (int64_t tile = own.begin; tile < own.end; ++tile) {
      const int64_t row = tile * 16;
      DenseRows d{};
      d.weights = reinterpret_cast<const char*>(weights + row * p.in);
      d.weights_pitch = int64_t{p.in} * 2;
      d.rows = static_cast<int>(std::min<int64_t>(16, p.out - row));
      d.src_k = m_tiles * kTileBytes;
      d.k_blocks = static_cast<int>(k_blocks(p.in));
      d.bias = bias == nullptr ? nullptr : bias + row;
      d.relu = relu;
      d.dst_pitch = p.out;
      for (int m = 0; m < p.batch; m += 64) {
        d.src = packed + m / 16 * kTileBytes;
        d.m = std::min(64, p.batch - m);
        const int64_t at = int64_t{m} * p.out + row;
        d.dst = dst_f32 == nullptr ? dst + at : nullptr;
        d.dst_f32 = dst_f32 == nullptr ? nullptr : dst_f32 + at;
        dense_rows(d, state);
      }
    }
    release_tiles(state);
  });
}

namespace {

/// The data gradient's scratch: diff_dst as tiles, and for each thread a block of weights and sums.
struct DataPlan {
  int64_t m_tiles, m_pairs;
  int64_t k_tiles;
  int64_t diff_bytes, block_bytes, sums_bytes;

  explicit DataPlan(const AmxDense& p)
      : m_tiles(ceil_div(p.batch, 16)),
        m_pairs(ceil_div(m_tiles, 2)),
        k_tiles(k_blocks(p.out)),
        diff_bytes(m_tiles * k_tiles * kTileBytes),
        block_bytes(int64_t{kBlockIn / 16} * (kBlockOut / 32) * kTileBytes),
        sums_bytes(m_pairs * (kBlockIn / 32) * 4 * kTileBytes) {}
};

/// Columns [begin, end) of diff_src, at most kBlockIn.
void data_columns(const AmxDense& p, const DataPlan& plan, const uint16_t* weights,
                  const char* diff, int64_t begin, int64_t end, uint16_t* diff_src, char* block,
                  float* sums, TileState& state) {
  constexpr int64_t kDepth = kBlockOut / 32;
  const int64_t i_pairs = ceil_div(end - begin, 32);
  for (int64_t o = 0; o < p.out; o += kBlockOut) {
    const int64_t depth = std::min(kDepth, k_blocks(p.out - o));
    for (int64_t k = 0; k < depth; ++k) {
      const RowPairs rows(weights + begin, o + k * 32, p.out, p.in);
      interleave_pairs(rows.first, rows.second, 16, static_cast<int>(end - begin),
                       block + k * kTileBytes, kDepth * kTileBytes);
    }
    const Summand summand{0, 0};
    for (int64_t m = 0; m < plan.m_pairs; ++m) {
      for (int64_t i = 0; i < i_pairs; ++i) {
        TileSums s{};
        s.a = diff + (2 * m * plan.k_tiles + o / 32) * kTileBytes;
        s.a_tiles = plan.k_tiles * kTileBytes;
        s.b = block + 2 * i * kDepth * kTileBytes;
        s.b_tiles = kDepth * kTileBytes;
        s.summands = &summand;
        s.count = 1;
        s.k_blocks = static_cast<int>(depth);
        s.o_tiles = static_cast<int>(std::min<int64_t>(2, plan.m_tiles - 2 * m));
        s.i_tiles = 2;
        s.add = o > 0;
        s.sums = sums + (m * (kBlockIn / 32) + i) * 1024;
        tile_sums(s, state);
      }
    }
  }
  for (int64_t m = 0; m < p.batch; m += 16) {
    for (int64_t i = 0; i < i_pairs; ++i) {
      const float* at = sums + (m / 32 * (kBlockIn / 32) + i) * 1024 + m % 32 / 16 * 512;
      store_rounded(at, at + 256, static_cast<int>(std::min<int64_t>(16, p.batch - m)), 32,
                    diff_src + m * p.in + begin + i * 32, p.in);
    }
  }
}

}  // namespace

size_t amx_dense_backward_data_scratch_bytes(const AmxDense& p) {
  const DataPlan plan(p);
  return static_cast<size_t>(plan.diff_bytes +
                             thread_count() * (plan.block_bytes + plan.sums_bytes));
}

void amx_dense_backward_data(const AmxDense& p, const uint16_t* diff_dst, const uint16_t* weights,
                             uint16_t* diff_src, void* scratch) {
  const DataPlan plan(p);
  auto* diff = static_cast<char*>(scratch);
  parallel_for(plan.k_tiles, 1, 16, [&](int64_t begin, int64_t end) {
    for (int64_t tile = 0; tile < plan.m_tiles; ++tile) {
      const Rows rows(diff_dst, tile * 16, p.batch, p.out);
      for (int64_t k = begin; k < end; ++k) {
        copy_rows(rows.at, static_cast<int>(k * 32),
                  static_cast<int>(std::min<int64_t>(32, p.out - k * 32)),
                  diff + (tile * plan.k_tiles + k) * kTileBytes);
      }
    }
  });
  parallel([&](int thread, int threads) {
    TileState state;
    char* block = diff + plan.diff_bytes + thread * (plan.block_bytes + plan.sums_bytes);
    auto* sums = reinterpret_cast<float*>(block + plan.block_bytes);
    const Range own = share_of(p.in, thread, threads, 32);
    for (int64_t begin = own.begin; begin < own.end; begin += kBlockIn) {
      data_columns(p, plan, weights, diff, begin, std::min<int64_t>(own.end, begin + kBlockIn),
                   diff_src, block, sums, state);
    }
    release_tiles(state);
  });
}

size_t amx_dense_backward_weights_scratch_bytes(const AmxDense& p) {
  return static_cast<size_t>((ceil_div(p.in, 16) + ceil_div(p.out, 16)) * k_blocks(p.batch) *
                             kTileBytes);
}

void amx_dense_backward_weights(const AmxDense& p, const uint16_t* src, const uint16_t* diff_dst,
                                float* diff_weights, void* scratch) {
  const int64_t depth = k_blocks(p.batch);
  auto* packed_src = static_cast<char*>(scratch);
  char* packed_diff = packed_src + ceil_div(p.in, 16) * depth * kTileBytes;
  // Columns of both in units of 64, so that every thread has some.
  const int64_t src_units = ceil_div(p.in, 64);
  const int64_t units = src_units + ceil_div(p.out, 64);
  parallel_for(units, 1, 2, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const bool of_src = unit < src_units;
      const int64_t column = (of_src ? unit : unit - src_units) * 64;
      const int64_t all = of_src ? p.in : p.out;
      const int columns = static_cast<int>(std::min<int64_t>(64, all - column));
      char* to = (of_src ? packed_src : packed_diff) + column / 16 * depth * kTileBytes;
      for (int64_t k = 0; k < depth; ++k) {
        const RowPairs rows((of_src ? src : diff_dst) + column, k * 32, p.batch, all);
        const auto pack = of_src ? interleave_pairs : transpose_pairs;
        pack(rows.first, rows.second, 16, columns, to + k * kTileBytes, depth * kTileBytes);
      }
    }
  });
  const int64_t o_pairs = ceil_div(p.out, 32);
  const int64_t i_pairs = ceil_div(p.in, 32);
  parallel([&](int thread, int threads) {
    TileState state;
    const Summand summand{0, 0};
    alignas(64) float sums[1024];
    const Range own = share_of(o_pairs * i_pairs, thread, threads);
    for (int64_t task = own.begin; task < own.end; ++task) {
      const int64_t o = task / i_pairs * 32;
      const int64_t i = task % i_pairs * 32;
      TileSums s{};
      s.a = packed_diff + o / 16 * depth * kTileBytes;
      s.b = packed_src + i / 16 * depth * kTileBytes;
      s.a_tiles = s.b_tiles = depth * kTileBytes;
      s.summands = &summand;
      s.count = 1;
      s.k_blocks = static_cast<int>(depth);
      s.o_tiles = o + 16 < p.out ? 2 : 1;
      s.i_tiles = 2;
      s.sums = sums;
      tile_sums(s, state);
      for (int64_t row = o; row < std::min<int64_t>(o + 32, p.out); row += 16) {
        const float* at = sums + (row - o) / 16 * 512;
        store_streaming(at, at + 256, static_cast<int>(std::min<int64_t>(16, p.out - row)), 32,
                        diff_weights + row * p.in + i, p.in);
      }
    }
    release_tiles(state);
  });
}

}  // namespace syrtos::ops::native

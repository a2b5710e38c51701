#pragma once

#include <cstdint>

// What the files *.amx.cc compute: they alone are compiled for AMX and AVX512-BF16, know nothing of
// threads, and are called only where amx_usable() says so. A tile is 16 rows of 64 bytes:
//   of a matrix A, 16 rows of 32 bf16; of a matrix B, 16 pairs of rows k of 16 columns each, the
//   two of a pair side by side; of a sum, 16 rows of 16 f32.
// Every row of a tile must begin at a multiple of 64 bytes: others take three times as long.

namespace syrtos::ops::native::amx {

inline constexpr int kTileRows = 16;
inline constexpr int kTileDepth = 32;  ///< values of k in a tile of A or B
inline constexpr int64_t kTileBytes = 1024;

/// The number of rows for which this thread's tiles are configured at present.
struct TileState {
  int rows[2] = {0, 0};
};
/// Gives the tiles back. After the last product of a thread.
void release_tiles(TileState& state);

/// Where one summand of a product begins, in bytes from the beginning of A and of B.
struct Summand {
  int64_t a;
  int64_t b;
};

/// dst[row][column] = relu?(bias[column] + sum over summands and k of A[row][k] * B[k][column]),
/// rounded to bf16: up to 2 tiles of rows and 2 of columns, or 1 of rows and 4 of columns.
struct Product {
  const char* a[2];
  int rows[2];      ///< rows[1] is 0 where there is one tile of rows
  bool whole;       ///< A may be read for 16 rows although fewer are stored
  int64_t a_pitch;  ///< bytes from row to row
  uint16_t* dst[2];
  int64_t dst_pitch;  ///< elements from row to row
  const Summand* summands;
  int count;
  int k_blocks;  ///< tiles along k of each summand: A steps by 64 bytes, B by a tile
  const char* b;
  int64_t b_columns;  ///< bytes from a tile of columns to the next
  int columns;
  const float* bias;  ///< may be null
  bool relu;
};
void product(const Product& p, TileState& state);

/// sums[o tile][i tile] = (or +=) the sum over summands and k_blocks of A[o][k] * B[k][i]: a tile
/// of A or B follows the one before it at once.
struct TileSums {
  const char* a;
  int64_t a_tiles;  ///< bytes from a tile of rows to the next
  const char* b;
  int64_t b_tiles;
  const Summand* summands;
  int count;
  int k_blocks;
  int o_tiles;  ///< 1 or 2
  int i_tiles;
  bool add;     ///< to what is in sums
  float* sums;  ///< [2][2] tiles of 16 x 16
};
void tile_sums(const TileSums& p, TileState& state);

/// Two tiles of sums, side by side, to rows of bf16: as Product does it, and to rows of f32 past
/// the cache where they are aligned.
void store_rounded(const float* left, const float* right, int rows, int columns, uint16_t* dst,
                   int64_t pitch);
void store_streaming(const float* left, const float* right, int rows, int columns, float* dst,
                     int64_t pitch);

/// Rows of weights times columns that are rows of src: dst[m][row] = relu?(bias[row] + sum over k
/// of weights[row][k] * src[m][k]) for up to 16 rows and 4 tiles of m. Reads ahead of itself.
struct DenseRows {
  const char* weights;
  int64_t weights_pitch;  ///< bytes
  int rows;
  const char* src;  ///< tiles [k / 32][m / 16] of B
  int64_t src_k;    ///< bytes from one k to the next
  int k_blocks;
  int m;  ///< columns
  const float* bias;
  bool relu;
  uint16_t* dst;      ///< one of the two: bf16
  float* dst_f32;     ///< or f32
  int64_t dst_pitch;  ///< elements from one m to the next
};
void dense_rows(const DenseRows& p, TileState& state);

/// A tile of B whose columns are rows of bf16, and one of A of the same: [16 pairs of k][16
/// rows][2] and [16 rows][32 k]. Missing rows (null) are zeros.
void transpose_columns(const uint16_t* const* rows, int k, int count, char* tile);
void copy_rows(const uint16_t* const* rows, int k, int count, char* tile);

/// Tiles of B out of rows of bf16: pair p of rows is (first[p], second[p]), null for zeros. Column
/// block c of pair p goes to dst + c * dst_columns + p * 64.
void interleave_pairs(const uint16_t* const* first, const uint16_t* const* second, int pairs,
                      int columns, char* dst, int64_t dst_columns);

/// Tiles of A that hold the transpose of rows of bf16, for 16 pairs of rows: column block c goes to
/// dst + c * dst_columns. Rows beyond `pairs` are zeros.
void transpose_pairs(const uint16_t* const* first, const uint16_t* const* second, int pairs,
                     int columns, char* dst, int64_t dst_columns);

/// A tile of B for the product with transposed weights: of weights [16 pairs of i][16 o][2 i], as
/// they lie for the forward product, the halves of two tiles [8 pairs of o][16 i][2 o].
void transpose_weights(const char* tile, char* first_half, char* second_half);

/// dst[i pair][o][2] of a tile of weights' gradient from two tiles of sums [o][i], side by side in
/// i. Bypasses the cache.
void store_gradient_tile(const float* sums, int64_t sums_tiles, float* dst);

/// Of a convolution with few channels, what lies under each row of the kernel, as one pixel of many
/// channels: pixel (row of src, w) holds [kernel_w][in_c] from column w * stride - pad on, then
/// zeros.
struct Segments {
  int in_w, in_c;
  int kernel_w;
  int stride_w;
  int pad_left;
  int64_t pitch;  ///< elements from pixel to pixel, a multiple of 32
};
/// `count` pixels from w on; row is where the row of src begins, dst a multiple of 64 bytes.
void gather_segments(const Segments& p, const uint16_t* row, int w, int count, uint16_t* dst);

}  // namespace syrtos::ops::native::amx

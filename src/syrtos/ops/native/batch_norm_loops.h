#pragma once

// The order in which batch norm walks over a matrix [rows][channels] and how it sums over rows, for
// .isa.cc files only.

#include "syrtos/ops/native/batch_norm_kernels.h"
#include "syrtos/ops/native/element.h"

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

// Rows that one tile of channels walks down before the next tile: few for wide rows, so that memory
// is read as a few sequential streams; many for narrow ones, where the tile is the row.
constexpr int64_t kWideGroup = 4;
constexpr int64_t kNarrowGroup = 32;
// Sums over so many rows are floats, sums of these doubles.
constexpr int64_t kBlock = 32;

inline int64_t group_rows(const BatchNormPart& part) {
  const bool narrow = part.channel_end - part.channel_begin <= 4 * kLanes;
  return narrow ? kNarrowGroup : kWideGroup;
}

/// Calls body(tile, first row, end row) over the rows [begin, end) of the part. `kBackwards` takes
/// groups of rows from the end, so that a second pass begins with what the first left in the cache.
template <bool kBackwards, typename Body>
inline void for_each_group(const BatchNormPart& part, int64_t begin, int64_t end, Body&& body) {
  const int64_t group = group_rows(part);
  const int64_t groups = (end - begin + group - 1) / group;
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t first = begin + (kBackwards ? groups - 1 - g : g) * group;
    const int64_t last = first + group < end ? first + group : end;
    for_each_tile(
        part.channel_begin, part.channel_end, [&](auto tile) __attribute__((always_inline)) {
          body(tile, first, last);
        });
  }
}

/// The accumulators of a tile while it walks down its rows.
template <typename Tile>
struct TileSums {
  Vec first[Tile::kVectors], second[Tile::kVectors];

  [[gnu::always_inline]] TileSums(Tile tile, const BatchNormSums& sums) {
    for (int v = 0; v < Tile::kVectors; ++v) {
      first[v] = load(sums.block_first + tile.column + v * kLanes);
      second[v] = load(sums.block_second + tile.column + v * kLanes);
    }
  }
  [[gnu::always_inline]] void keep(Tile tile, const BatchNormSums& sums) const {
    for (int v = 0; v < Tile::kVectors; ++v) {
      store(sums.block_first + tile.column + v * kLanes, first[v]);
      store(sums.block_second + tile.column + v * kLanes, second[v]);
    }
  }
};

/// Calls body(begin, end) for blocks of rows; it adds to the sums of the block, which then go to
/// the sums of the part. The arrays are padded to whole vectors.
template <typename Body>
inline void sum_blocks(const BatchNormPart& part, const BatchNormSums& sums, Body&& body) {
  for (int64_t c = part.channel_begin; c < part.channel_end; c += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) sums.first[c + lane] = sums.second[c + lane] = 0;
    store(sums.block_first + c, Vec{});
    store(sums.block_second + c, Vec{});
  }
  for (int64_t begin = part.row_begin; begin < part.row_end; begin += kBlock) {
    body(begin, begin + kBlock < part.row_end ? begin + kBlock : part.row_end);
    for (int64_t c = part.channel_begin; c < part.channel_end; c += kLanes) {
      add_to(sums.first + c, load(sums.block_first + c));
      add_to(sums.second + c, load(sums.block_second + c));
      store(sums.block_first + c, Vec{});
      store(sums.block_second + c, Vec{});
    }
  }
}

}  // namespace
}  // namespace syrtos::ops::native::SYRTOS_ISA

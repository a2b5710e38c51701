#pragma once

#include "syrtos/base/cpu.h"
#include "syrtos/ops/native/conv_wgrad.h"

// Internal to conv_wgrad: what the shape-only part (conv_wgrad.cc) decides for the part that is
// compiled once per instruction set (conv_wgrad.isa.cc). Plain data only: an inline function here
// would be compiled for several instruction sets under one name.

namespace syrtos::ops::native {

constexpr int kWgradMaxKernel = 64;   // taps per axis
constexpr int kWgradMaxFolded = 256;  // rows when the kernel's width is folded into the rows

/// The register tile: up to max_rows input channels x 2 vectors of `lanes` output channels.
struct WgradTile {
  int lanes;
  int max_rows;
};

constexpr WgradTile wgrad_tile(Isa isa) {
  switch (isa) {
    case Isa::generic:
      return {4, 4};
    case Isa::avx2:
      return {8, 6};
    case Isa::avx512:
    case Isa::avx512_bf16:
      return {16, 14};
  }
  return {4, 4};
}

/// Sizes are in words of 32 bits: one f32, or a pair of bf16 of two images.
struct WgradPlan {
  bool pairs = false;   // bf16 stays bf16, two images to a word
  bool folded = false;  // rows are (kernel column, channel) instead of channel
  int taps_w = 1;       // kernel columns left as taps
  int rows = 0;         // rows of one tap's matrix, a multiple of i_pack
  int row_c = 0;        // in_c rounded up to i_pack
  int i_panels = 0;
  int o_panels = 0;
  int lanes = 16;
  int x_width = 16;  // words per k in a panel of src
  int y_width = 32;  // words per k in a panel of diff_dst

  int images = 0;    // per block; the last block may have fewer
  int band = 0;      // output rows per block
  int n_blocks = 0;  // blocks along the batch
  int blocks = 0;    // times bands
  int x_rows = 0;    // input rows that a block can touch
  int x_cols = 0;
  int64_t x_panel = 0;
  int64_t y_panel = 0;
  int64_t span = 0;  // floats in diff_weights, padding included
  bool stream = false;

  int groups = 1;       // of threads: they share out the blocks and sum separately
  int members = 1;      // threads of a group: they share out the tiles
  bool o_outer = true;  // a member's tiles are a range of panels of diff_dst, else of src

  // The scratch, in bytes: a slot for each thread (panels of src, at y_offset those of diff_dst, at
  // bias_offset column sums), then the groups' copies of diff_weights but for the first's.
  int64_t slot_bytes = 0;
  int64_t y_offset = 0;
  int64_t bias_offset = 0;
  int64_t partial_bytes = 0;
  int64_t bytes = 0;
};

struct WgradArgs {
  const ConvWgrad* problem;
  const WgradPlan* plan;
  const void* src;
  const void* diff_dst;
  float* diff_weights;
  float* diff_bias;
  char* scratch;
};

namespace generic {
void conv_wgrad_run(const WgradArgs& args);
}
namespace avx2 {
void conv_wgrad_run(const WgradArgs& args);
}
namespace avx512 {
void conv_wgrad_run(const WgradArgs& args);
}
namespace avx512_bf16 {
void conv_wgrad_run(const WgradArgs& args);
}

}  // namespace syrtos::ops::native

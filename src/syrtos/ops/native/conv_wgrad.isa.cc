// The weight gradient of convolution, compiled once per instruction set.
//
// Idea. For one tap (kh, kw) of the kernel, diff_weights is a matrix product
//   diff_weights[tap] (in_c x out_c) = sum over k of src[k shifted by the tap]^T diff_dst[k],
// where k runs over the output pixels (of all images) whose shifted pixel lies inside the image.
// Each tap visits exactly these: padding costs nothing, and a tap that never meets the image (8 of
// 9 taps of a padded 3x3 kernel on a 1x1 image) is only zeroed. The output is cut into tiles
// (tap, <= 14 input channels, 32 output channels) that stay in registers over all of k, so threads
// share out tiles and nothing has to be reduced between them.
//
// Steps, for each block of the batch (usually there is one; a few when it outgrows the caches):
//  1. Pack src and diff_dst into panels [panel][line][pixel][image][channels of the panel]; one
//     packing serves all taps. Column sums of diff_dst on the way give diff_bias.
//  2. Each thread computes a contiguous share of the tiles, ordered (out_c panel, in_c panel, tap)
//     and weighted by the pixels of their taps; tiles of later blocks add to what is stored.
// Only when there are fewer than 4 tiles per thread, blocks are also shared out between groups of
// threads, each with its own copy of diff_weights, summed at the end.
//
// Bytes per step: packing reads and writes k * (in_c + out_c) words once; computing reads, per
// tile, k * (16 + 32) words from the packed panels (sequentially, mostly from the second-level
// cache) for k * 14 * 32 multiply-adds, and writes diff_weights once per block.

#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/conv_wgrad_pack.isa.h"
#include "syrtos/ops/native/conv_wgrad_tile.isa.h"

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

static_assert(wgrad_tile(Isa::SYRTOS_ISA).lanes == kLanes);
static_assert(wgrad_tile(Isa::SYRTOS_ISA).max_rows == kMaxRows);

// Cost of zeroing and storing a tile, in steps of k; for the balance between threads.
constexpr int kStoreCost = 8;

struct Span {
  int begin, end;
};

// The outputs in [begin, end) for which a tap at `offset` (tap * dilation - pad) stays inside.
Span valid_outputs(int offset, int size, int stride, int begin, int end) {
  const int low = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const int high = size - 1 - offset < 0 ? 0 : (size - 1 - offset) / stride + 1;
  const Span span{low > begin ? low : begin, high < end ? high : end};
  return span.begin < span.end ? span : Span{begin, begin};
}

Block block_at(const ConvWgrad& p, const WgradPlan& plan, int index) {
  Block b;
  b.n_begin = index % plan.n_blocks * plan.images;
  b.n_end = least(b.n_begin + plan.images, p.batch);
  b.oh_begin = index / plan.n_blocks * plan.band;
  b.oh_end = least(b.oh_begin + plan.band, p.out_h);
  const int h_begin = b.oh_begin * p.stride_h - p.pad_top;
  const int h_end = (b.oh_end - 1) * p.stride_h + (p.kernel_h - 1) * p.dilation_h - p.pad_top + 1;
  b.h_begin = h_begin < 0 ? 0 : h_begin;
  b.h_end = least(h_end, p.in_h);
  b.words = plan.pairs ? (b.n_end - b.n_begin + 1) / 2 : b.n_end - b.n_begin;
  return b;
}

struct Run {
  const WgradArgs& args;
  const ConvWgrad& p;
  const WgradPlan& plan;

  float* x_block(int group) const {
    return reinterpret_cast<float*>(args.scratch) + group * plan.i_panels * plan.x_panel;
  }
  float* y_block(int group) const {
    return reinterpret_cast<float*>(args.scratch + plan.y_offset) +
           group * plan.o_panels * plan.y_panel;
  }
  float* bias(int thread) const {
    return reinterpret_cast<float*>(args.scratch + plan.bias_offset) +
           int64_t{thread} * plan.o_panels * plan.y_width;
  }
  float* out(int group) const {
    if (group == 0) return args.diff_weights;
    return reinterpret_cast<float*>(args.scratch + plan.partial_offset +
                                    (group - 1) * ((plan.span * 4 + 63) / 64 * 64));
  }
};

// How packing one tensor of a block is cut into units of (panels, line, words of k): whole lines of
// a few panels, and parts of lines when there are too few of them for the threads.
struct Units {
  int panels, grain, lines, pieces;
  int64_t weight;  // words that a unit reads and writes

  Units(int panel_count, int line_count, int64_t line_words, int words, int threads, bool split)
      : panels(panel_count), grain(kPartPanels), lines(line_count), pieces(1) {
    if (split && lines < 4 * threads) pieces = least(4 * threads, words / 32 + 1);
    const int units = (panels + grain - 1) / grain * lines * pieces;
    if (!split) {
      grain = panels;
    } else if (units < 4 * threads) {
      grain = 1;
    }
    weight = line_words * grain / pieces + 1;
  }
  int chunks() const { return (panels + grain - 1) / grain; }
  int64_t total() const { return weight * chunks() * lines * pieces; }
};

// Calls pack(line, part) for the units whose running weight, from `at` on, falls in [begin, end).
template <typename Pack>
void each_unit(const Units& units, int words, int64_t at, int64_t begin, int64_t end,
               const Pack& pack) {
  for (int chunk = 0; chunk < units.chunks(); ++chunk) {
    for (int line = 0; line < units.lines; ++line) {
      for (int piece = 0; piece < units.pieces; ++piece, at += units.weight) {
        if (at < begin || at >= end) continue;
        pack(line, Part{chunk * units.grain, least((chunk + 1) * units.grain, units.panels),
                        words * piece / units.pieces, words * (piece + 1) / units.pieces});
      }
    }
  }
}

// Step 1 for one block. Units weigh their words, so that threads that get src and threads that get
// diff_dst end alike.
template <Source kSource>
void pack_block(const Run& run, const Block& block, int group, int thread, int threads) {
  const ConvWgrad& p = run.p;
  const WgradPlan& plan = run.plan;
  const int x_lines = block.h_end > block.h_begin ? block.h_end - block.h_begin : 0;
  const Units x(plan.i_panels, x_lines, int64_t{plan.x_cols} * block.words * plan.x_width,
                block.words, threads, !plan.folded);
  const Units y(plan.o_panels, block.oh_end - block.oh_begin,
                int64_t{p.out_w} * block.words * plan.y_width, block.words, threads, true);
  const int64_t total = x.total() + y.total();
  const int64_t begin = total * thread / threads;
  const int64_t end = total * (thread + 1) / threads;
  float* bias = run.args.diff_bias != nullptr ? run.bias(thread) : nullptr;

  each_unit(x, block.words, 0, begin, end, [&](int line, const Part& part) {
    const int h = block.h_begin + line;
    if (!touched(h, p.pad_top, p.kernel_h, p.dilation_h, p.stride_h, block.oh_begin,
                 block.oh_end)) {
      return;
    }
    if (plan.folded) {
      pack_folded_line<kSource>(p, plan, run.args.src, block, h, run.x_block(group));
    } else {
      pack_src_line<kSource>(p, plan, run.args.src, block, h, part, run.x_block(group));
    }
  });
  each_unit(y, block.words, x.total(), begin, end, [&](int line, const Part& part) {
    pack_diff_dst_line<kSource>(p, plan, run.args.diff_dst, block, block.oh_begin + line, part,
                                run.y_block(group), bias);
  });
}

// Where the rows and the columns of a tile lie, whatever the tap. Divisions would be felt in tiles
// of few pixels: i_pack is 1 or 2, and the columns change only with the panel of diff_dst.
void place_rows(const Run& run, int i_panel, TileJob& job) {
  const WgradLayout& l = run.p.layout;
  const int shift = l.i_pack == 2 ? 1 : 0;
  const int first = panel_start(run.p, run.plan, i_panel);
  const int last = panel_start(run.p, run.plan, i_panel + 1);
  for (int row = first; row < last; ++row) {
    const int kw = run.plan.folded ? row / run.plan.row_c : 0;
    const int i = row - kw * run.plan.row_c;
    job.row_at[row - first] = kw * l.stride_w + (i >> shift) * l.stride_i + (i & shift);
  }
}

void place_columns(const Run& run, int o_panel, TileJob& job) {
  const WgradLayout& l = run.p.layout;
  job.o_begin = o_panel * run.plan.y_width;
  job.whole = true;
  for (int c = 0; c < 2; ++c) {
    const int64_t o = job.o_begin + c * kLanes;
    if (o >= run.p.out_c) break;
    job.column_at[c] = o / l.o_block * l.stride_o + o % l.o_block * l.i_pack;
    job.whole = job.whole && o % l.o_block + kLanes <= l.o_block;
  }
}

// Step 2 for one block: the share of one of the threads that work on it.
template <bool kPairs>
void compute_block(const Run& run, const Block& block, int group, bool accumulate, int member,
                   int members) {
  const ConvWgrad& p = run.p;
  const WgradPlan& plan = run.plan;
  Span taps_h[kWgradMaxKernel];
  Span taps_w[kWgradMaxKernel];
  int64_t lines = 0;
  int64_t columns = 0;
  for (int kh = 0; kh < p.kernel_h; ++kh) {
    taps_h[kh] = valid_outputs(kh * p.dilation_h - p.pad_top, p.in_h, p.stride_h, block.oh_begin,
                               block.oh_end);
    lines += taps_h[kh].end - taps_h[kh].begin;
  }
  for (int kw = 0; kw < plan.taps_w; ++kw) {
    taps_w[kw] =
        plan.folded ? Span{0, p.out_w}
                    : valid_outputs(kw * p.dilation_w - p.pad_left, p.in_w, p.stride_w, 0, p.out_w);
    columns += taps_w[kw].end - taps_w[kw].begin;
  }
  const int64_t cost_of_pair =
      lines * columns * block.words + p.kernel_h * plan.taps_w * kStoreCost;
  const int64_t total = cost_of_pair * plan.o_panels * plan.i_panels;
  const int64_t begin = total * member / members;
  const int64_t end = total * (member + 1) / members;

  TileJob job;
  job.layout = &p.layout;
  job.accumulate = accumulate;
  const int64_t x_pixel = int64_t{block.words} * plan.x_width;
  for (int64_t pair = begin / cost_of_pair; pair * cost_of_pair < end; ++pair) {
    const int o_panel = static_cast<int>(pair / plan.i_panels);
    const int i_panel = static_cast<int>(pair % plan.i_panels);
    if (pair == begin / cost_of_pair || i_panel == 0) place_columns(run, o_panel, job);
    place_rows(run, i_panel, job);
    const int vectors = p.out_c - job.o_begin > kLanes ? 2 : 1;
    const TileFunction function = tile_function<kPairs>(
        panel_start(p, plan, i_panel + 1) - panel_start(p, plan, i_panel), vectors);
    const float* x_panel = run.x_block(group) + i_panel * plan.x_panel;
    const float* y_panel = run.y_block(group) + o_panel * plan.y_panel;
    const int64_t y_pixel = int64_t{block.words} * vectors * kLanes;
    int64_t at = pair * cost_of_pair;
    for (int kh = 0; kh < p.kernel_h; ++kh) {
      for (int kw = 0; kw < plan.taps_w; ++kw) {
        const Span rows = taps_h[kh];
        const Span cols = taps_w[kw];
        const int64_t here = at;
        at += int64_t{rows.end - rows.begin} * (cols.end - cols.begin) * block.words + kStoreCost;
        if (here < begin || here >= end) continue;
        const int h = rows.begin * p.stride_h + kh * p.dilation_h - p.pad_top;
        const int w = cols.begin * p.stride_w + kw * p.dilation_w - p.pad_left;
        job.lines = rows.end - rows.begin;
        job.run = (cols.end - cols.begin) * block.words;
        job.x_line = p.stride_h * plan.x_cols * x_pixel;
        job.y_line = p.out_w * y_pixel;
        if (job.run == 0) job.lines = 0;
        if (job.lines > 0) {
          const int column = plan.folded ? 0 : packed_column(w, p.in_w, p.stride_w);
          job.x = x_panel + (int64_t{h - block.h_begin} * plan.x_cols + column) * x_pixel;
          job.y = y_panel + (int64_t{rows.begin - block.oh_begin} * p.out_w + cols.begin) * y_pixel;
          // Whole lines follow each other without a gap: one long run.
          if (job.run * plan.x_width == job.x_line &&
              job.run * int64_t{vectors} * kLanes == job.y_line) {
            job.run *= job.lines;
            job.lines = 1;
          }
        }
        job.out =
            run.out(group) + kh * p.layout.stride_h + (plan.folded ? 0 : kw * p.layout.stride_w);
        job.stream = plan.stream;
        function(job, plan.x_width);
      }
    }
  }
}

template <Source kSource>
void run_all(const Run& run) {
  const WgradPlan& plan = run.plan;
  int sums = 1;  // how many threads have summed diff_dst
  for (int step = 0; step * plan.groups < plan.blocks; ++step) {
    const int first = step * plan.groups;
    const int count = least(plan.groups, plan.blocks - first);
    parallel([&](int thread, int threads) {
      if (thread == 0) sums = threads;
      if (step == 0 && run.args.diff_bias != nullptr) {
        for (int o = 0; o < plan.o_panels * plan.y_width; ++o) run.bias(thread)[o] = 0;
      }
      for (int g = 0; g < count; ++g) {
        pack_block<kSource>(run, block_at(run.p, plan, first + g), g, thread, threads);
      }
    });
    parallel([&](int thread, int threads) {
      for (int g = 0; g < count; ++g) {
        int member = 0;
        int members = 1;
        if (threads >= plan.groups) {
          if (thread % plan.groups != g) continue;
          member = thread / plan.groups;
          members = (threads - g + plan.groups - 1) / plan.groups;
        } else if (g % threads != thread) {
          continue;
        }
        compute_block<kSource == Source::bf16_pairs>(run, block_at(run.p, plan, first + g), g,
                                                     step > 0, member, members);
      }
#if defined(__AVX512F__)
      if (plan.stream) _mm_sfence();
#endif
    });
  }
  if (run.args.diff_bias == nullptr) return;
  for (int o = 0; o < run.p.out_c; ++o) {
    float sum = 0;
    for (int thread = 0; thread < sums; ++thread) sum += run.bias(thread)[o];
    run.args.diff_bias[o] = sum;
  }
}

}  // namespace

void conv_wgrad_run(const WgradArgs& args) {
  const Run run{args, *args.problem, *args.plan};
  if (!run.p.bf16) return run_all<Source::f32>(run);
#if defined(__AVX512BF16__)
  if (run.plan.pairs) return run_all<Source::bf16_pairs>(run);
#endif
  run_all<Source::bf16_widened>(run);
}

}  // namespace syrtos::ops::native::SYRTOS_ISA

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
// Steps of one thread, for each of its blocks of the batch (one, or more when that outgrows the
// thread's cache):
//  1. Pack the panels of src and diff_dst that its tiles need: [panel][line][pixel][image][channels
//     of the panel]. One packing serves all taps; column sums on the way give diff_bias.
//  2. Compute its tiles, ordered (outer panel, inner panel, tap); tiles of later blocks add to what
//     is stored.
// The threads form a grid of groups x members. Members share out the tiles of the same blocks,
// weighted by the pixels of their taps, and repeat the packing of the inner panels (the smaller of
// in_c and out_c) rather than share it: lines written by one core and read by another are slow, and
// nobody waits. Groups share out blocks, each with its own copy of diff_weights, summed at the end;
// the plan weighs that sum against the repeated packing.
//
// Bytes per block: packing reads and writes k * (inner + outer / members) words once; computing
// reads, per tile, k * (16 + 32) words from the packed panels (in order, from the second-level
// cache) for k * 14 * 32 multiply-adds, and writes the tiles of diff_weights once.

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

// The outputs that each tap visits within some output rows, and what a tile costs in steps of k.
struct Taps {
  Span h[kWgradMaxKernel];
  Span w[kWgradMaxKernel];
  int words;
  int64_t all;  // cost of all taps of a pair of panels

  Taps(const ConvWgrad& p, const WgradPlan& plan, int oh_begin, int oh_end, int words_per_pixel)
      : words(words_per_pixel) {
    int64_t lines = 0;
    int64_t columns = 0;
    for (int kh = 0; kh < p.kernel_h; ++kh) {
      h[kh] = valid_outputs(kh * p.dilation_h - p.pad_top, p.in_h, p.stride_h, oh_begin, oh_end);
      lines += h[kh].end - h[kh].begin;
    }
    for (int kw = 0; kw < plan.taps_w; ++kw) {
      w[kw] = plan.folded
                  ? Span{0, p.out_w}
                  : valid_outputs(kw * p.dilation_w - p.pad_left, p.in_w, p.stride_w, 0, p.out_w);
      columns += w[kw].end - w[kw].begin;
    }
    all = lines * columns * words + p.kernel_h * plan.taps_w * kStoreCost;
  }
  int64_t cost(int kh, int kw) const {
    return int64_t{h[kh].end - h[kh].begin} * (w[kw].end - w[kw].begin) * words + kStoreCost;
  }
};

// The work of one thread: the blocks of its group, and the tiles whose running cost falls in
// [begin, end). The cost is that of the whole image, so that every block gives a tile to the same
// member.
struct Slot {
  const WgradArgs& args;
  const ConvWgrad& p;
  const WgradPlan& plan;
  int group;
  Taps taps;
  int64_t begin, end;
  Span x_panels, y_panels;  // packed
  Span summed;              // panels of diff_dst whose sums are this slot's
  float* x;                 // first packed panel
  float* y;
  float* bias;
  float* out;

  Slot(const WgradArgs& a, int index)
      : args(a),
        p(*a.problem),
        plan(*a.plan),
        group(index / plan.members),
        taps(p, plan, 0, p.out_h, plan.images) {
    const int member = index % plan.members;
    const int64_t total = taps.all * plan.i_panels * plan.o_panels;
    begin = total * member / plan.members;
    end = total * (member + 1) / plan.members;
    const int64_t outer_cost = taps.all * (plan.o_outer ? plan.i_panels : plan.o_panels);
    const auto up = [&](int64_t cost) {
      return static_cast<int>((cost + outer_cost - 1) / outer_cost);
    };
    const Span outer{static_cast<int>(begin / outer_cost), up(end)};
    x_panels = plan.o_outer ? Span{0, plan.i_panels} : outer;
    y_panels = plan.o_outer ? outer : Span{0, plan.o_panels};
    if (plan.o_outer) {
      summed = Span{up(begin), up(end)};
    } else {
      summed = Span{0, member == 0 ? plan.o_panels : 0};
    }
    char* own = args.scratch + index * plan.slot_bytes;
    x = reinterpret_cast<float*>(own);
    y = reinterpret_cast<float*>(own + plan.y_offset);
    bias = reinterpret_cast<float*>(own + plan.bias_offset);
    char* partials = args.scratch + plan.groups * plan.members * plan.slot_bytes;
    out = group == 0 ? args.diff_weights
                     : reinterpret_cast<float*>(partials + (group - 1) * plan.partial_bytes);
  }
  float* x_panel(int panel) const { return x + (panel - x_panels.begin) * plan.x_panel; }
  float* y_panel(int panel) const { return y + (panel - y_panels.begin) * plan.y_panel; }
};

// Step 1 for one block.
template <Source kSource>
void pack_block(const Slot& slot, const Block& block) {
  const ConvWgrad& p = slot.p;
  const WgradPlan& plan = slot.plan;
  const Span xs = slot.x_panels;
  for (int first = xs.begin; first < xs.end; first += kPartPanels) {
    const Part part{first, least(first + kPartPanels, xs.end), slot.x_panel(first)};
    for (int h = block.h_begin; h < block.h_end; ++h) {
      if (!touched(h, p.pad_top, p.kernel_h, p.dilation_h, p.stride_h, block.oh_begin,
                   block.oh_end)) {
        continue;
      }
      if (plan.folded) {
        pack_folded_line<kSource>(p, plan, slot.args.src, block, h, part);
      } else {
        pack_src_line<kSource>(p, plan, slot.args.src, block, h, part);
      }
    }
  }
  const Span ys = slot.y_panels;
  for (int first = ys.begin; first < ys.end; first += kPartPanels) {
    const Part part{first, least(first + kPartPanels, ys.end), slot.y_panel(first)};
    for (int oh = block.oh_begin; oh < block.oh_end; ++oh) {
      pack_diff_dst_line<kSource>(p, plan, slot.args.diff_dst, block, oh, part);
      if (slot.args.diff_bias == nullptr) continue;
      for (int panel = part.begin; panel < part.end; ++panel) {
        if (panel < slot.summed.begin || panel >= slot.summed.end) continue;
        sum_diff_dst_line<kSource>(p, plan, block, oh, panel, slot.y_panel(panel), slot.bias);
      }
    }
  }
}

// Where the rows and the columns of a tile lie, whatever the tap. Divisions would be felt in tiles
// of few pixels: i_pack is 1 or 2, and the columns change only with the panel of diff_dst.
void place_rows(const Slot& run, int i_panel, TileJob& job) {
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

void place_columns(const Slot& run, int o_panel, TileJob& job) {
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

// The reduction of one tap over one block, as lines and runs of the packed panels.
void place_tap(const Slot& slot, const Block& block, const Taps& taps, int kh, int kw, int i_panel,
               int o_panel, TileJob& job) {
  const ConvWgrad& p = slot.p;
  const WgradPlan& plan = slot.plan;
  const Span rows = taps.h[kh];
  const Span cols = taps.w[kw];
  const int y_width = p.out_c - job.o_begin > kLanes ? 2 * kLanes : kLanes;
  const int64_t x_pixel = int64_t{block.words} * plan.x_width;
  const int64_t y_pixel = int64_t{block.words} * y_width;
  job.out = slot.out + kh * p.layout.stride_h + (plan.folded ? 0 : kw * p.layout.stride_w);
  job.lines = rows.end - rows.begin;
  job.run = (cols.end - cols.begin) * block.words;
  job.x_line = p.stride_h * plan.x_cols * x_pixel;
  job.y_line = p.out_w * y_pixel;
  if (job.run == 0) job.lines = 0;
  if (job.lines == 0) return;
  const int h = rows.begin * p.stride_h + kh * p.dilation_h - p.pad_top;
  const int w = cols.begin * p.stride_w + kw * p.dilation_w - p.pad_left;
  const int column = plan.folded ? 0 : packed_column(w, p.in_w, p.stride_w);
  job.x = slot.x_panel(i_panel) + (int64_t{h - block.h_begin} * plan.x_cols + column) * x_pixel;
  job.y = slot.y_panel(o_panel) +
          (int64_t{rows.begin - block.oh_begin} * p.out_w + cols.begin) * y_pixel;
  // Whole lines follow each other without a gap: one long run.
  if (job.run * int64_t{plan.x_width} == job.x_line && job.run * int64_t{y_width} == job.y_line) {
    job.run *= job.lines;
    job.lines = 1;
  }
}

// Step 2 for one block.
template <bool kPairs>
void compute_block(const Slot& slot, const Block& block, bool accumulate) {
  const ConvWgrad& p = slot.p;
  const WgradPlan& plan = slot.plan;
  const Taps taps(p, plan, block.oh_begin, block.oh_end, block.words);
  const int inner = plan.o_outer ? plan.i_panels : plan.o_panels;
  const int64_t pair_cost = slot.taps.all;
  TileJob job;
  job.layout = &p.layout;
  job.accumulate = accumulate;
  job.stream = plan.stream;
  int placed_i = -1;
  int placed_o = -1;
  for (int64_t pair = slot.begin / pair_cost; pair * pair_cost < slot.end; ++pair) {
    const int i_panel = static_cast<int>(plan.o_outer ? pair % inner : pair / inner);
    const int o_panel = static_cast<int>(plan.o_outer ? pair / inner : pair % inner);
    if (i_panel != placed_i) place_rows(slot, placed_i = i_panel, job);
    if (o_panel != placed_o) place_columns(slot, placed_o = o_panel, job);
    const TileFunction function =
        tile_function<kPairs>(panel_start(p, plan, i_panel + 1) - panel_start(p, plan, i_panel),
                              p.out_c - job.o_begin > kLanes ? 2 : 1);
    int64_t at = pair * pair_cost;
    for (int kh = 0; kh < p.kernel_h; ++kh) {
      for (int kw = 0; kw < plan.taps_w; ++kw) {
        const int64_t here = at;
        at += slot.taps.cost(kh, kw);
        if (here < slot.begin || here >= slot.end) continue;
        place_tap(slot, block, taps, kh, kw, i_panel, o_panel, job);
        function(job, plan.x_width);
      }
    }
  }
}

template <Source kSource>
void run_slot(const WgradArgs& args, int index) {
  const Slot slot(args, index);
  const WgradPlan& plan = slot.plan;
  for (int o = 0; o < plan.o_panels * plan.y_width; ++o) slot.bias[o] = 0;
  if (slot.begin == slot.end) return;
  for (int b = slot.group; b < plan.blocks; b += plan.groups) {
    const Block block = block_at(slot.p, plan, b);
    pack_block<kSource>(slot, block);
    compute_block<kSource == Source::bf16_pairs>(slot, block, b != slot.group);
  }
#if defined(__AVX512F__)
  if (plan.stream) _mm_sfence();
#endif
}

template <Source kSource>
void run_all(const WgradArgs& args) {
  const WgradPlan& plan = *args.plan;
  const int slots = plan.groups * plan.members;
  parallel([&](int thread, int threads) {
    for (int index = thread; index < slots; index += threads) run_slot<kSource>(args, index);
  });
  if (args.diff_bias == nullptr) return;
  const char* bias = args.scratch + plan.bias_offset;
  for (int o = 0; o < args.problem->out_c; ++o) {
    float sum = 0;
    for (int index = 0; index < slots; ++index) {
      sum += reinterpret_cast<const float*>(bias + index * plan.slot_bytes)[o];
    }
    args.diff_bias[o] = sum;
  }
}

}  // namespace

void conv_wgrad_run(const WgradArgs& args) {
  if (!args.problem->bf16) return run_all<Source::f32>(args);
#if defined(__AVX512BF16__)
  if (args.plan->pairs) return run_all<Source::bf16_pairs>(args);
#endif
  run_all<Source::bf16_widened>(args);
}

}  // namespace syrtos::ops::native::SYRTOS_ISA

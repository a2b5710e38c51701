#include "syrtos/ops/native/conv_wgrad.h"

#include <algorithm>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/conv_wgrad_plan.h"

// The shape-only half of the weight gradient: which panels, blocks and groups there are, and where
// they lie in the scratch. conv_wgrad.isa.cc opens with the algorithm.

namespace syrtos::ops::native {
namespace {

// Packed bytes per thread and block: small enough that a block stays in the core's cache between
// packing and use, larger where the tiles of a large diff_weights are expensive to load and store
// again.
int64_t block_budget(int64_t output_bytes) {
  constexpr int64_t kKiB = 1024;
  const int64_t most = std::clamp(output_bytes, 2048 * kKiB, 3072 * kKiB);
  return std::clamp(12 * output_bytes, 768 * kKiB, most);
}

// From this size on diff_weights does not stay in a core's cache until somebody reads it, and
// stores that bypass the cache save the read for ownership.
constexpr int64_t kStreamBytes = int64_t{1} << 20;

constexpr int ceil_div(int64_t a, int64_t b) { return static_cast<int>((a + b - 1) / b); }
constexpr int64_t align64(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// Words per k of a panel of src: a power of two, so that no broadcast crosses a cache line.
int panel_width(int rows, int lanes) {
  int width = 4;
  while (width < rows && width < lanes) width *= 2;
  return width;
}

int input_rows(const ConvWgrad& p, int band) {
  const int64_t rows = int64_t{band - 1} * p.stride_h + int64_t{p.kernel_h - 1} * p.dilation_h + 1;
  return static_cast<int>(std::min<int64_t>(rows, p.in_h));
}

void plan_panels(const ConvWgrad& p, Isa isa, WgradPlan& plan) {
  const WgradTile tile = wgrad_tile(isa);
  const int unit = static_cast<int>(p.layout.i_pack);
  plan.pairs = p.bf16 && isa == Isa::avx512_bf16;
  plan.lanes = tile.lanes;
  plan.row_c = ceil_div(p.in_c, unit) * unit;
  // Few channels leave the register tile empty: the kernel's columns fill it up.
  plan.folded =
      p.kernel_w > 1 && p.in_c <= tile.max_rows / 2 && p.kernel_w * plan.row_c <= kWgradMaxFolded;
  plan.taps_w = plan.folded ? 1 : p.kernel_w;
  plan.rows = plan.folded ? p.kernel_w * plan.row_c : plan.row_c;
  plan.i_panels = ceil_div(plan.rows / unit, tile.max_rows / unit);
  plan.o_panels = ceil_div(p.out_c, 2 * tile.lanes);
  plan.x_width = panel_width(std::min(plan.rows, tile.max_rows), 16);
  plan.y_width = 2 * tile.lanes;
  plan.x_cols = plan.folded ? p.out_w : p.in_w;
}

// Chooses the grid of threads by cycles per thread: a step of k of a tile is 28, packing a vector
// about 8, and a vector of a sum between cores about 24.
void plan_grid(const ConvWgrad& p, int threads, WgradPlan& plan) {
  plan.o_outer = p.out_c >= plan.rows;
  const double words = ceil_div(p.batch, plan.pairs ? 2 : 1);
  const double taps = double{1} * p.kernel_h * plan.taps_w;
  const double x_vectors = words * p.in_h * plan.x_cols * plan.i_panels;
  const double y_vectors = words * p.out_h * p.out_w * plan.o_panels * 2;
  const double tiles = taps * plan.i_panels * plan.o_panels;
  const double steps = words * p.out_h * p.out_w;
  double best = 0;
  for (int groups = 1; groups <= threads && groups <= words; ++groups) {
    if (threads % groups != 0) continue;
    const int members = threads / groups;
    const double compute = 28 * std::ceil(tiles / members) * steps / groups;
    const double inner = plan.o_outer ? x_vectors : y_vectors;
    const double outer = plan.o_outer ? y_vectors : x_vectors;
    const double pack = 8 * (inner + outer / members) / groups;
    const double vectors = static_cast<double>(plan.span) / plan.lanes;
    const double sum =
        groups == 1 ? 0 : 24 * vectors * (1.0 / members + double{1} * groups / threads);
    if (groups == 1 || compute + pack + sum < best) {
      best = compute + pack + sum;
      plan.groups = groups;
      plan.members = members;
    }
  }
}

// Blocks: as many whole images as fit the budget, or a band of output rows of one (or one pair)
// of them; their number a multiple of the groups where the batch allows it.
void plan_blocks(const ConvWgrad& p, WgradPlan& plan) {
  const int64_t budget = block_budget(plan.span * 4);
  const int per_word = plan.pairs ? 2 : 1;
  const int words = ceil_div(p.batch, per_word);
  // A member's range of outer panels may begin and end within a panel.
  const int i_panels = plan.o_outer
                           ? plan.i_panels
                           : std::min(plan.i_panels, ceil_div(plan.i_panels, plan.members) + 1);
  const int o_panels = plan.o_outer
                           ? std::min(plan.o_panels, ceil_div(plan.o_panels, plan.members) + 1)
                           : plan.o_panels;
  const int64_t x_row = int64_t{i_panels} * plan.x_width * plan.x_cols * 4;
  const int64_t y_row = int64_t{o_panels} * plan.y_width * p.out_w * 4;
  const auto block_bytes = [&](int band) { return input_rows(p, band) * x_row + band * y_row; };

  const int64_t fit = std::clamp<int64_t>(budget / block_bytes(p.out_h), 1, words);
  int count = ceil_div(ceil_div(words, fit), plan.groups) * plan.groups;
  while (count < words && ceil_div(words, ceil_div(words, count)) % plan.groups != 0) ++count;
  const int block_words = ceil_div(words, std::min(count, words));
  plan.n_blocks = ceil_div(words, block_words);
  plan.images = block_words * per_word;
  plan.band = p.out_h;
  while (block_bytes(plan.band) * block_words > budget && plan.band > 8) {
    plan.band = ceil_div(plan.band, 2);
  }
  plan.blocks = plan.n_blocks * ceil_div(p.out_h, plan.band);
  plan.x_rows = input_rows(p, plan.band);
  plan.x_panel = int64_t{plan.x_rows} * plan.x_cols * block_words * plan.x_width;
  plan.y_panel = int64_t{plan.band} * p.out_w * block_words * plan.y_width;
  plan.y_offset = align64(i_panels * plan.x_panel * 4);
  plan.bias_offset = plan.y_offset + align64(o_panels * plan.y_panel * 4);
  plan.slot_bytes = plan.bias_offset + align64(int64_t{plan.o_panels} * plan.y_width * 4);
}

// To a 1x1 kernel that visits every pixel, pixels are as good as images of one pixel, and those are
// packed in the order in which they lie in memory.
ConvWgrad flatten(ConvWgrad p) {
  const bool every_pixel = p.kernel_h == 1 && p.kernel_w == 1 && p.stride_h == 1 &&
                           p.stride_w == 1 && p.in_h == p.out_h && p.in_w == p.out_w &&
                           p.pad_top == 0 && p.pad_left == 0;
  if (!every_pixel) return p;
  p.batch *= p.in_h * p.in_w;
  p.in_h = p.in_w = p.out_h = p.out_w = 1;
  return p;
}

WgradPlan make_plan(const ConvWgrad& p, Isa isa) {
  SYRTOS_CHECK(conv_wgrad_supported(p), "[conv_wgrad] kernel {}x{}, i_pack {}", p.kernel_h,
               p.kernel_w, p.layout.i_pack);
  WgradPlan plan;
  plan.span = p.layout.padded_o * p.layout.padded_i * p.kernel_h * p.kernel_w;
  plan_panels(p, isa, plan);
  plan_grid(p, thread_count(), plan);
  plan_blocks(p, plan);
  const WgradLayout& l = p.layout;
  const bool aligned = (l.o_block | l.stride_o | l.stride_i | l.stride_h | l.stride_w) % 16 == 0;
  plan.stream = plan.blocks == 1 && plan.span * 4 >= kStreamBytes && aligned;
  plan.partial_bytes = align64(plan.span * 4);
  plan.bytes =
      plan.groups * plan.members * plan.slot_bytes + (plan.groups - 1) * plan.partial_bytes;
  return plan;
}

// Padding of o beyond the last whole vector and of i beyond the last whole pack: no tile covers it.
void zero_padding(const ConvWgrad& p, const WgradPlan& plan, float* diff_weights) {
  const WgradLayout& l = p.layout;
  const int64_t o_done =
      std::min<int64_t>(int64_t{ceil_div(p.out_c, plan.lanes)} * plan.lanes, l.padded_o);
  const int64_t i_done = plan.row_c;
  if (o_done == l.padded_o && i_done == l.padded_i) return;
  const int64_t i_packs = l.padded_i / l.i_pack;
  const int64_t packs = i_packs * p.kernel_h * p.kernel_w;
  parallel_for(packs, 1, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t pack = begin; pack < end; ++pack) {
      const int64_t tap = pack / i_packs;
      const int64_t i = pack % i_packs * l.i_pack;
      float* row = diff_weights + tap / p.kernel_w * l.stride_h + tap % p.kernel_w * l.stride_w +
                   i / l.i_pack * l.stride_i;
      for (int64_t o = i < i_done ? o_done : 0; o < l.padded_o; ++o) {
        float* at = row + o / l.o_block * l.stride_o + o % l.o_block * l.i_pack;
        std::fill_n(at, l.i_pack, 0.0F);
      }
    }
  });
}

void add_partials(const WgradPlan& plan, float* diff_weights, const char* scratch) {
  const int64_t pitch = plan.partial_bytes / 4;
  const auto* partials =
      reinterpret_cast<const float*>(scratch + plan.groups * plan.members * plan.slot_bytes);
  parallel_for(plan.span, 16, 4096, [&](int64_t begin, int64_t end) {
    for (int group = 1; group < plan.groups; ++group) {
      const float* part = partials + (group - 1) * pitch;
      for (int64_t i = begin; i < end; ++i) diff_weights[i] += part[i];
    }
  });
}

}  // namespace

WgradLayout blocked_wgrad_layout(int out_c, int in_c, int kernel_h, int kernel_w, int o_block,
                                 int i_pack) {
  WgradLayout l;
  l.o_block = o_block;
  l.i_pack = i_pack;
  l.padded_o = int64_t{ceil_div(out_c, o_block)} * o_block;
  l.padded_i = int64_t{ceil_div(in_c, i_pack)} * i_pack;
  l.stride_i = int64_t{o_block} * i_pack;
  l.stride_w = l.padded_i * o_block;
  l.stride_h = l.stride_w * kernel_w;
  l.stride_o = l.stride_h * kernel_h;
  return l;
}

bool conv_wgrad_supported(const ConvWgrad& p) {
  const WgradLayout& l = p.layout;
  constexpr int64_t kMaxPixels = int64_t{1} << 28;  // counted in int, with room for small factors
  if (int64_t{p.batch} * p.in_h > kMaxPixels / p.in_w) return false;
  if (int64_t{p.batch} * p.out_h > kMaxPixels / p.out_w) return false;
  if (p.kernel_h > kWgradMaxKernel || p.kernel_w > kWgradMaxKernel) return false;
  if (l.o_block < 1 || (l.i_pack != 1 && l.i_pack != 2)) return false;
  if (l.padded_o < p.out_c || l.padded_o % l.o_block != 0) return false;
  if (l.padded_i < p.in_c || l.padded_i % l.i_pack != 0) return false;
  const int64_t last = (l.padded_o / l.o_block - 1) * l.stride_o +
                       (l.padded_i / l.i_pack - 1) * l.stride_i + (p.kernel_h - 1) * l.stride_h +
                       (p.kernel_w - 1) * l.stride_w + l.o_block * l.i_pack;
  return last == l.padded_o * l.padded_i * p.kernel_h * p.kernel_w;
}

// Threads of oneDNN's weight gradients wait for each other within the kernel, spinning: where all
// cores are taken and one thread is late, the others keep it from being scheduled. Measured with
// two threads on a busy machine: 11 ms instead of 0.2. From this number of threads on ours is used,
// whose threads meet at the end alone.
constexpr int kManyThreads = 4;

// Packing costs in_c + out_c words per pixel and pays by the multiply-adds that use them, so what
// decides is their ratio; the bounds are where measurements on Zen 4 cross oneDNN's, which packs
// nothing in f32 and transposes in bf16. A single vector of output channels leaves too much of the
// register tile empty. Folded kernels only just lose, except in bf16 on several cores, where
// oneDNN's hardly scales.
bool conv_wgrad_should_use(const ConvWgrad& p) {
  if (best_isa() < Isa::avx512 || !conv_wgrad_supported(p)) return false;
  static const CpuInfo cpu = cpu_info();
  const bool amx = cpu.has_amx_bf16 && !cpu.has_hidden_amx;  // oneDNN's bf16 is out of reach
  if (p.bf16 && amx) return false;
  if (thread_count() >= kManyThreads) return true;
  if (p.out_c <= 16) return false;
  if (p.in_c < 8) return p.bf16 && p.kernel_w > 1 && thread_count() > 1;
  const double taps = double{1} * p.kernel_h * p.kernel_w;
  const double reuse = taps * p.in_c * p.out_c / (p.in_c + p.out_c);
  return reuse >= (p.bf16 ? 90 : 160);
}

size_t conv_wgrad_scratch_bytes(const ConvWgrad& problem, Isa isa) {
  return static_cast<size_t>(make_plan(flatten(problem), isa).bytes);
}

void conv_wgrad(const ConvWgrad& requested, const void* src, const void* diff_dst,
                float* diff_weights, float* diff_bias, void* scratch, Isa isa) {
  const ConvWgrad problem = flatten(requested);
  WgradPlan plan = make_plan(problem, isa);
  if (reinterpret_cast<uintptr_t>(diff_weights) % 64 != 0) plan.stream = false;
  const WgradArgs args{
      &problem, &plan, src, diff_dst, diff_weights, diff_bias, static_cast<char*>(scratch)};
#if defined(__x86_64__)
  switch (isa) {
    case Isa::generic:
      generic::conv_wgrad_run(args);
      break;
    case Isa::avx2:
      avx2::conv_wgrad_run(args);
      break;
    case Isa::avx512:
      avx512::conv_wgrad_run(args);
      break;
    case Isa::avx512_bf16:
      avx512_bf16::conv_wgrad_run(args);
      break;
  }
#else
  generic::conv_wgrad_run(args);
#endif
  if (plan.groups > 1) add_partials(plan, diff_weights, args.scratch);
  zero_padding(problem, plan, diff_weights);
}

}  // namespace syrtos::ops::native

#include <algorithm>
#include <cstring>

#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/amx/conv_weights.h"
#include "syrtos/ops/native/amx/gather.h"
#include "syrtos/ops/native/amx/kernels.h"
#include "syrtos/ops/native/reduction.h"

// The gradient of weights: for each tap, diff_dst transposed times src shifted by the tap. What is
// summed over, k, runs over pixels and images. Both operands are brought into tiles, a chunk of
// images at a time: k runs over the columns of a row and, fastest, over the chunk's images, so that
// a shift by pixels never separates the pairs of k that a tile holds. Around the columns of src
// there are zeros; a stride gives each of its phases a copy.
//
//   diff_dst  [o / 16][row][k / 32] tiles [16 o][32 k]
//   src       [i / 16][phase][row][column][image pair] lines [16 i][2 images]
//
// Threads share the tiles of the result, after they have packed a chunk together; or, where the
// result is small and k long, each takes chunks of its own and their sums are added at the end.

namespace syrtos::ops::native {

using namespace amx;

namespace {

constexpr int kMaxBand = 64;          // rows of diff_dst in a chunk
constexpr int64_t kSumsBytes = 4096;  // of a task: 2 x 2 tiles
constexpr int64_t kApartBytes = 640 << 10;
constexpr int64_t kApartDepth = 1024;  // of k for each thread
constexpr int kMaxPhases = 16;

struct Plan {
  AmxConv p;  // with segments, or flattened where pixels are as good as images
  bool segments = false;
  int o_tiles = 1, i_tiles = 1, o_pairs = 1, i_pairs = 1;
  int taps = 1;
  int phases = 1;
  int phase_of[kMaxPhases] = {};  // of a remainder of the stride
  int columns = 1;                // of src: those of diff_dst and the shifts
  bool apart = false;
  int images = 2;  // of a chunk, an even number
  int band = 1;    // rows of diff_dst in a chunk
  int image_chunks = 1, bands = 1;
  int src_rows = 1;      // at most, of a chunk
  int row_blocks = 1;    // tiles along k in a row
  int64_t src_tile = 0;  // bytes from a tile of i to the next
  int64_t diff_tile = 0;
  int64_t chunk_bytes = 0;  // both operands
  int64_t sums_bytes = 0;   // per thread if apart, else once if there are several chunks
  int64_t bytes = 0;

  int shift(int kw) const { return kw * p.dilation_w / p.stride_w; }
  int phase(int kw) const { return phase_of[kw * p.dilation_w % p.stride_w]; }
  int64_t tasks() const { return int64_t{o_pairs} * i_pairs * taps; }
};

AmxConv flatten(AmxConv p) {
  p.batch *= p.out_h * p.out_w;
  p.in_h = p.in_w = p.out_h = p.out_w = p.kernel_h = p.kernel_w = 1;
  p.stride_h = p.stride_w = p.dilation_h = p.dilation_w = 1;
  p.pad_top = p.pad_left = 0;
  return p;
}

bool visits_every_pixel(const AmxConv& p) {
  return p.kernel_h == 1 && p.kernel_w == 1 && p.stride_h == 1 && p.stride_w == 1 &&
         p.in_h == p.out_h && p.in_w == p.out_w && p.pad_top == 0 && p.pad_left == 0;
}

int rows_of_src(const AmxConv& p, int band) {
  const int64_t rows = int64_t{band - 1} * p.stride_h + int64_t{p.kernel_h - 1} * p.dilation_h + 1;
  return static_cast<int>(std::min<int64_t>(rows, p.in_h));
}

void size_chunk(Plan& plan) {
  const AmxConv& p = plan.p;
  plan.src_rows = rows_of_src(p, plan.band);
  plan.row_blocks = static_cast<int>(ceil_div(int64_t{p.out_w} * plan.images, 32));
  const int64_t lines = int64_t{plan.phases} * plan.src_rows * plan.columns * (plan.images / 2);
  plan.src_tile = (lines + kTileRows) * 64;  // what a last tile reads beyond the end is zero
  plan.diff_tile = int64_t{plan.band} * plan.row_blocks * kTileBytes;
  plan.chunk_bytes = plan.i_tiles * plan.src_tile + plan.o_tiles * plan.diff_tile;
  if (plan.segments) {
    plan.chunk_bytes += int64_t{plan.images} * plan.src_rows * p.out_w * ceil_div(p.in_c, 32) * 64;
  }
}

void plan_chunks(Plan& plan) {
  const AmxConv& p = plan.p;
  const int64_t budget = plan.apart ? 1 << 20 : 3 << 19;
  const int share = plan.apart ? static_cast<int>(ceil_div(p.batch, thread_count())) : p.batch;
  plan.images = static_cast<int>(ceil_div(share, 2) * 2);
  plan.band = std::min(p.out_h, kMaxBand);
  size_chunk(plan);
  while (plan.images > 2 && plan.chunk_bytes > budget) {
    plan.images = static_cast<int>(ceil_div(plan.images, 4) * 2);
    size_chunk(plan);
  }
  while (plan.band > 1 && plan.chunk_bytes > budget) {
    plan.band = static_cast<int>(ceil_div(plan.band, 2));
    size_chunk(plan);
  }
  plan.image_chunks = static_cast<int>(ceil_div(p.batch, plan.images));
  plan.bands = static_cast<int>(ceil_div(p.out_h, plan.band));
}

Plan make_plan(const AmxConv& problem) {
  Plan plan;
  plan.segments = uses_segments(problem);
  plan.p = plan.segments ? with_segments(problem) : problem;
  if (visits_every_pixel(problem)) plan.p = flatten(problem);
  const AmxConv& p = plan.p;
  plan.o_tiles = static_cast<int>(ceil_div(p.out_c, 16));
  plan.i_tiles = static_cast<int>(ceil_div(p.in_c, 16));
  plan.o_pairs = static_cast<int>(ceil_div(plan.o_tiles, 2));
  plan.i_pairs = static_cast<int>(ceil_div(plan.i_tiles, 2));
  plan.taps = p.kernel_h * p.kernel_w;
  std::fill_n(plan.phase_of, kMaxPhases, -1);
  plan.phases = 0;
  for (int kw = 0; kw < p.kernel_w; ++kw) {
    int& phase = plan.phase_of[kw * p.dilation_w % p.stride_w];
    if (phase < 0) phase = plan.phases++;
  }
  plan.columns = p.out_w + plan.shift(p.kernel_w - 1);
  const int64_t sums = plan.tasks() * kSumsBytes;
  const int64_t depth = int64_t{p.batch} * p.out_h * p.out_w;
  const int threads = thread_count();
  plan.apart = sums <= kApartBytes && depth / threads >= kApartDepth;
  plan_chunks(plan);
  const bool keeps_sums = plan.apart || plan.image_chunks * plan.bands > 1;
  plan.sums_bytes = keeps_sums ? sums : 0;
  const int sets = plan.apart ? threads : 1;
  plan.bytes = sets * (align64(plan.chunk_bytes) + plan.sums_bytes);
  return plan;
}

/// One call: its operands and where they are packed to.
struct Job {
  const AmxConv& problem;
  const Plan& plan;
  const uint16_t* src;
  const uint16_t* diff_dst;
  float* diff_weights;
};

struct Chunk {
  int first_image, images;  // images: how many there are
  int pairs;                // of images, with the one that may be missing
  int first_row, rows;      // of diff_dst
  int first_src, src_rows;
  char* src;
  char* diff;
  uint16_t* segments;
};

Chunk make_chunk(const Plan& plan, int first_image, int end_image, int band, char* at) {
  const AmxConv& p = plan.p;
  Chunk c{};
  c.first_image = first_image;
  c.images = std::min(plan.images, end_image - first_image);
  c.pairs = static_cast<int>(ceil_div(c.images, 2));
  c.first_row = band * plan.band;
  c.rows = std::min(plan.band, p.out_h - c.first_row);
  const int low = c.first_row * p.stride_h - p.pad_top;
  const int high =
      (c.first_row + c.rows - 1) * p.stride_h - p.pad_top + (p.kernel_h - 1) * p.dilation_h;
  c.first_src = std::max(0, low);
  c.src_rows = std::max(0, std::min(p.in_h - 1, high) - c.first_src + 1);
  c.src = at;
  c.diff = at + plan.i_tiles * plan.src_tile;
  c.segments = reinterpret_cast<uint16_t*>(c.diff + plan.o_tiles * plan.diff_tile);
  return c;
}

// Blocks of 16 pairs of k: of src within (phase, row), of diff_dst within a row.
int64_t src_row_units(const Plan& plan, const Chunk& c) {
  return ceil_div(int64_t{plan.columns} * c.pairs, 16);
}
int64_t src_units(const Plan& plan, const Chunk& c) {
  return int64_t{plan.phases} * c.src_rows * src_row_units(plan, c);
}
int row_blocks(const Plan& plan, const Chunk& c) {
  return static_cast<int>(ceil_div(int64_t{plan.p.out_w} * c.pairs, 16));
}
int64_t diff_units(const Plan& plan, const Chunk& c) {
  return int64_t{c.rows} * row_blocks(plan, c);
}

struct Pairs {
  const uint16_t* first[16];
  const uint16_t* second[16];
  int count = 0;
};

/// Pairs of images at `pairs` positions (column, pair) from `begin` on. pixel(column) is the offset
/// within an image, or negative for zeros.
template <typename Pixel>
void list_pairs(const Chunk& c, int columns, int64_t begin, const uint16_t* base,
                int64_t image_size, Pixel pixel, Pairs& list) {
  const int64_t all = int64_t{columns} * c.pairs;
  list.count = static_cast<int>(std::min<int64_t>(16, all - begin));
  auto column = static_cast<int>(begin / c.pairs);
  auto pair = static_cast<int>(begin % c.pairs);
  int64_t at = pixel(column);
  for (int i = 0; i < list.count; ++i) {
    const int64_t image = c.first_image + 2 * pair;
    const bool there = at >= 0;
    const bool both = there && 2 * pair + 1 < c.images;
    list.first[i] = there ? base + image * image_size + at : nullptr;
    list.second[i] = both ? base + (image + 1) * image_size + at : nullptr;
    if (++pair == c.pairs) {
      pair = 0;
      if (++column < columns) at = pixel(column);
    }
  }
}

/// The segments of one row of one image of a chunk, where pack_src finds them.
void make_segments(const Job& job, const Chunk& c, int64_t index) {
  const AmxConv& image = job.problem;
  const Segments how = segments_of(image);
  const int64_t n = c.first_image + index / c.src_rows;
  const int64_t h = c.first_src + index % c.src_rows;
  gather_segments(how, job.src + (n * image.in_h + h) * image.in_w * image.in_c, 0, image.out_w,
                  c.segments + index * image.out_w * how.pitch);
}

void pack_src(const Job& job, const Chunk& c, int64_t unit) {
  const Plan& plan = job.plan;
  const AmxConv& p = plan.p;
  const int64_t per_row = src_row_units(plan, c);
  const int64_t begin = unit % per_row * 16;
  const int64_t line = unit / per_row * plan.columns * c.pairs + begin;
  char* to = c.src + line * 64;
  const int h = c.first_src + static_cast<int>(unit / per_row % c.src_rows);
  const auto phase = static_cast<int>(unit / per_row / c.src_rows);
  int remainder = 0;
  while (plan.phase_of[remainder] != phase) ++remainder;
  Pairs list;
  if (plan.segments) {
    const int64_t pitch = segments_of(job.problem).pitch;
    Chunk own = c;  // whose images are those of the chunk alone
    own.first_image = 0;
    list_pairs(
        own, plan.columns, begin, c.segments, int64_t{c.src_rows} * p.in_w * pitch,
        [&](int column) { return (int64_t{h - c.first_src} * p.in_w + column) * pitch; }, list);
  } else {
    list_pairs(
        c, plan.columns, begin, job.src, int64_t{p.in_h} * p.in_w * p.in_c,
        [&](int column) -> int64_t {
          const int w = column * p.stride_w + remainder - p.pad_left;
          if (w < 0 || w >= p.in_w) return -1;
          return (int64_t{h} * p.in_w + w) * p.in_c;
        },
        list);
  }
  interleave_pairs(list.first, list.second, list.count, p.in_c, to, plan.src_tile);
}

void pack_diff(const Job& job, const Chunk& c, int64_t unit) {
  const Plan& plan = job.plan;
  const AmxConv& p = plan.p;
  const int per_row = row_blocks(plan, c);
  const int64_t h = c.first_row + unit / per_row;
  Pairs list;
  list_pairs(
      c, p.out_w, unit % per_row * 16, job.diff_dst, int64_t{p.out_h} * p.out_w * p.out_c,
      [&](int column) { return (h * p.out_w + column) * p.out_c; }, list);
  transpose_pairs(list.first, list.second, list.count, p.out_c, c.diff + unit * kTileBytes,
                  plan.diff_tile);
}

/// Packs a share of a chunk's units; the first thread also clears what lies behind src.
void pack_chunk(const Job& job, const Chunk& c, int thread, int threads) {
  const int64_t lines = src_units(job.plan, c);
  const Range own = share_of(lines + diff_units(job.plan, c), thread, threads);
  for (int64_t unit = own.begin; unit < own.end; ++unit) {
    if (unit < lines) {
      pack_src(job, c, unit);
    } else {
      pack_diff(job, c, unit - lines);
    }
  }
  if (thread > 0) return;
  const int64_t used = int64_t{job.plan.phases} * c.src_rows * job.plan.columns * c.pairs * 64;
  for (int tile = 0; tile < job.plan.i_tiles; ++tile) {
    std::memset(c.src + tile * job.plan.src_tile + used, 0, kTileBytes);
  }
}

/// Where a task's tiles are.
struct Task {
  int o;  // first tile
  int i;
  int tap;
};
Task task_at(const Plan& plan, int64_t index) {
  const auto pair = static_cast<int>(index / plan.taps);
  return {pair / plan.i_pairs * 2, pair % plan.i_pairs * 2, static_cast<int>(index % plan.taps)};
}

/// Adds a chunk to a task's sums, or begins them. False where the tap meets none of its pixels.
bool sum_task(const Job& job, const Chunk& c, const Task& task, bool add, float* sums,
              TileState& state) {
  const Plan& plan = job.plan;
  const AmxConv& p = plan.p;
  const int kh = task.tap / p.kernel_w;
  const int kw = task.tap % p.kernel_w;
  Summand summands[kMaxBand];
  TileSums s{};
  for (int row = 0; row < c.rows; ++row) {
    const int h = (c.first_row + row) * p.stride_h - p.pad_top + kh * p.dilation_h;
    if (h < 0 || h >= p.in_h) continue;
    const int64_t src_row = int64_t{plan.phase(kw)} * c.src_rows + h - c.first_src;
    const int64_t line = (src_row * plan.columns + plan.shift(kw)) * c.pairs;
    summands[s.count++] = {int64_t{row} * row_blocks(plan, c) * kTileBytes, line * 64};
  }
  s.a = c.diff + task.o * plan.diff_tile;
  s.a_tiles = plan.diff_tile;
  s.b = c.src + task.i * plan.src_tile;
  s.b_tiles = plan.src_tile;
  s.summands = summands;
  s.k_blocks = row_blocks(plan, c);
  s.o_tiles = std::min(2, plan.o_tiles - task.o);
  s.i_tiles = std::min(2, plan.i_tiles - task.i);
  s.add = add;
  s.sums = sums;
  tile_sums(s, state);
  return s.count > 0;
}

/// Sums to where the gradient lies.
void store_task(const Job& job, const Task& task, const float* sums) {
  const Plan& plan = job.plan;
  const AmxConv& p = job.problem;
  const int64_t taps = int64_t{p.kernel_h} * p.kernel_w;
  for (int o = task.o; o < std::min(task.o + 2, plan.o_tiles); ++o) {
    const float* row = sums + (o - task.o) * 512;
    if (amx_conv_tiled(p)) {
      const int64_t tile = (int64_t{o} * taps + task.tap) * (p.in_c / 32) + task.i / 2;
      store_gradient_tile(row, 256, job.diff_weights + tile * 512);
      continue;
    }
    for (int r = 0; r < std::min(16, p.out_c - o * 16); ++r) {
      float* to = job.diff_weights + int64_t{o * 16 + r} * p.in_c * taps;
      const int columns = std::min(32, plan.p.in_c - task.i * 16);
      for (int column = 0; column < columns; ++column) {
        const int64_t k = task.i * 16 + column;
        const float value = row[column / 16 * 256 + r * 16 + column % 16];
        const int64_t tap = plan.segments ? task.tap * p.kernel_w + k / p.in_c : task.tap;
        to[k % p.in_c * taps + tap] = value;
      }
    }
  }
}

void run_together(const Job& job, char* scratch) {
  const Plan& plan = job.plan;
  auto* kept = reinterpret_cast<float*>(scratch + align64(plan.chunk_bytes));
  const int chunks = plan.image_chunks * plan.bands;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const Chunk c = make_chunk(plan, chunk / plan.bands * plan.images, plan.p.batch,
                               chunk % plan.bands, scratch);
    if (plan.segments) {
      parallel_for(int64_t{c.images} * c.src_rows, 1, 2, [&](int64_t begin, int64_t end) {
        for (int64_t index = begin; index < end; ++index) make_segments(job, c, index);
      });
    }
    parallel([&](int thread, int threads) { pack_chunk(job, c, thread, threads); });
    parallel([&](int thread, int threads) {
      TileState state;
      alignas(64) float own_sums[1024];
      const Range own = share_of(plan.tasks(), thread, threads);
      for (int64_t index = own.begin; index < own.end; ++index) {
        const Task task = task_at(plan, index);
        float* sums = chunks > 1 ? kept + index * 1024 : own_sums;
        sum_task(job, c, task, chunk > 0, sums, state);
        if (chunk + 1 == chunks) store_task(job, task, sums);
      }
      release_tiles(state);
    });
  }
}

void run_apart(const Job& job, char* scratch) {
  const Plan& plan = job.plan;
  const int64_t set_bytes = align64(plan.chunk_bytes) + plan.sums_bytes;
  const auto sums_of = [&](int thread) {
    return reinterpret_cast<float*>(scratch + thread * set_bytes + align64(plan.chunk_bytes));
  };
  parallel([&](int thread, int threads) {
    TileState state;
    const Range own = share_of(plan.p.batch, thread, threads, 2);
    bool add = false;
    for (int64_t image = own.begin; image < own.end; image += plan.images) {
      for (int band = 0; band < plan.bands; ++band) {
        const Chunk c = make_chunk(plan, static_cast<int>(image), static_cast<int>(own.end), band,
                                   scratch + thread * set_bytes);
        for (int64_t index = 0; plan.segments && index < int64_t{c.images} * c.src_rows; ++index) {
          make_segments(job, c, index);
        }
        pack_chunk(job, c, 0, 1);
        for (int64_t index = 0; index < plan.tasks(); ++index) {
          sum_task(job, c, task_at(plan, index), add, sums_of(thread) + index * 1024, state);
        }
        add = true;
      }
    }
    if (!add) std::memset(sums_of(thread), 0, static_cast<size_t>(plan.sums_bytes));
    release_tiles(state);
  });
  parallel([&](int thread, int threads) {
    const Range own = share_of(plan.tasks(), thread, threads);
    for (int64_t index = own.begin; index < own.end; ++index) {
      float* sums = sums_of(0) + index * 1024;
      for (int other = 1; other < threads; ++other) {
        const float* more = sums_of(other) + index * 1024;
        for (int e = 0; e < 1024; ++e) sums[e] += more[e];
      }
      store_task(job, task_at(plan, index), sums);
    }
    TileState none;
    release_tiles(none);  // and what was streamed is seen
  });
}

}  // namespace

size_t amx_conv_backward_weights_scratch_bytes(const AmxConv& problem) {
  const auto bias = static_cast<size_t>(bias_gradient_scratch_bytes(problem.out_c));
  return std::max(static_cast<size_t>(make_plan(problem).bytes), bias);
}

void amx_conv_backward_weights(const AmxConv& problem, const uint16_t* src,
                               const uint16_t* diff_dst, float* diff_weights, float* diff_bias,
                               void* scratch) {
  if (diff_bias != nullptr) {
    const int64_t rows = int64_t{problem.batch} * problem.out_h * problem.out_w;
    bias_gradient(DType::bf16, rows, problem.out_c, diff_dst, diff_bias, scratch);
  }
  const Plan plan = make_plan(problem);
  const Job job{problem, plan, src, diff_dst, diff_weights};
  if (plan.apart) {
    run_apart(job, static_cast<char*>(scratch));
  } else {
    run_together(job, static_cast<char*>(scratch));
  }
}

}  // namespace syrtos::ops::native

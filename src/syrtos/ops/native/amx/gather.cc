#include "syrtos/ops/native/amx/gather.h"

#include <algorithm>
#include <cstring>

#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/amx/kernels.h"

// What the 16 rows of a tile are depends on the images:
//   flat    a 1x1 kernel that visits every pixel: the rows are pixels as they follow in memory;
//   wide    images of many columns: neighbours in a row of an image, of which a copy with zeros
//           around it is made, band by band, so that every tap is a whole tile;
//   narrow  others: the same pixel of 16 images, read where it lies. Taps outside of the image are
//           left out, and nothing is copied.

namespace syrtos::ops::native::amx {
namespace {

constexpr int kMaxTaps = 256;  // of one kernel
constexpr int64_t kBandBytes = 384 << 10;
constexpr int64_t kChunkBytes = 256 << 10;

enum class Mode { flat, wide, narrow };

Mode mode_of(const Gather& g) {
  if (g.segments) return Mode::wide;
  const auto every_pixel = [](const Axis& a) {
    return a.kernel == 1 && a.stride == 1 && a.pad == 0 && a.result == a.source;
  };
  if (every_pixel(g.h) && every_pixel(g.w)) return Mode::flat;
  const auto share = [](int64_t n) { return static_cast<double>(n) / (16.0 * ceil_div(n, 16)); };
  // Tiles of one image are near each other in memory; those of 16 images may evict each other.
  const double wide = share(ceil_div(g.w.result, g.w.result_step()));
  return wide >= 0.8 * share(g.batch) ? Mode::wide : Mode::narrow;
}

int64_t padded_c(const Gather& g) { return ceil_div(g.source_c, 32) * 32; }
int k_blocks(const Gather& g) { return static_cast<int>(padded_c(g) / 32); }
int64_t column_tile_bytes(const Gather& g) {
  return int64_t{g.h.kernel} * g.w.kernel * k_blocks(g) * kTileBytes;
}

/// Source pixels that a range of the result needs along one axis; `whole` tiles of 16 at the end.
struct Reach {
  int first;
  int last;
};
Reach reach(const Axis& axis, int begin, int end) {
  Reach all{1 << 30, -(1 << 30)};
  for (int x : {begin, end - 1}) {
    // Phases of a backward axis differ by less than one step.
    for (int near = std::max(begin, x - axis.result_step());
         near <= std::min(end - 1, x + axis.result_step()); ++near) {
      for (int tap = 0; tap < axis.kernel; ++tap) {
        int pixel = 0;
        if (!axis.source_of(near, tap, pixel)) continue;
        all.first = std::min(all.first, pixel);
        all.last = std::max(all.last, pixel);
      }
    }
  }
  if (all.first > all.last) return {0, 0};
  return all;
}

/// A band of rows of one image with zeros around it.
struct WidePlan {
  int band = 1;   // rows of the result
  int bands = 1;  // per image
  int left = 0;   // columns of zeros
  int columns = 0;
  int64_t slot_bytes = 0;  // per thread

  explicit WidePlan(const Gather& g) {
    const Reach across = reach(g.w, 0, g.w.result);
    left = std::max(0, -across.first);
    const int64_t tiles = ceil_div(ceil_div(g.w.result, g.w.result_step()), 16);
    // The last tile may reach beyond the image by up to 15 pixels.
    columns = std::max(across.last, g.w.source - 1) + left + 1;
    columns = static_cast<int>(
        std::max<int64_t>(columns, tiles * 16 * g.w.source_step() + g.w.kernel * g.w.dilation) +
        16);
    const int64_t row_bytes = int64_t{columns} * padded_c(g) * 2;
    const int step = g.h.result_step();
    const int64_t work = int64_t{g.batch} * g.h.result;
    band = g.h.result;
    const auto rows = [&](int b) {
      const Reach down = reach(g.h, 0, std::min(b, g.h.result));
      return down.last - down.first + 2;
    };
    while (band > step &&
           (rows(band) * row_bytes > kBandBytes || work / band < int64_t{3} * thread_count())) {
      band = static_cast<int>(ceil_div(ceil_div(band, 2), step)) * step;
      if (band <= step) break;
    }
    bands = static_cast<int>(ceil_div(g.h.result, band));
    int most = 0;
    for (int b = 0; b < bands; ++b) {
      const Reach down = reach(g.h, b * band, std::min(g.h.result, (b + 1) * band));
      most = std::max(most, down.last - down.first + 1);
    }
    slot_bytes = align64((most + 1) * row_bytes);
  }
};

bool needs_padding(const Gather& g) { return g.source_c % 32 != 0 && mode_of(g) != Mode::wide; }

int64_t padding_bytes(const Gather& g) {
  if (!needs_padding(g)) return 0;
  return align64(int64_t{g.batch} * g.h.source * g.w.source * padded_c(g) * 2);
}

/// Rows of source_c channels become rows of padded_c.
void pad_channels(const Gather& g, const uint16_t* source, uint16_t* padded) {
  const int64_t c = g.source_c;
  const int64_t pitch = padded_c(g);
  const int64_t rows = int64_t{g.batch} * g.h.source * g.w.source;
  parallel_for(rows, 1, 256, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      std::memcpy(padded + row * pitch, source + row * c, static_cast<size_t>(c) * 2);
      std::memset(padded + row * pitch + c, 0, static_cast<size_t>(pitch - c) * 2);
    }
  });
}

/// What all products of a call have in common.
struct Context {
  const Gather& g;
  const char* source;
  const char* weights;
  const float* bias;
  bool relu;
  uint16_t* result;
  int64_t pixel_bytes;  // of the source

  Product product(int column) const {
    Product p{};
    p.a_pitch = pixel_bytes;
    p.k_blocks = k_blocks(g);
    p.b = weights + column / 16 * column_tile_bytes(g);
    p.b_columns = column_tile_bytes(g);
    p.bias = bias == nullptr ? nullptr : bias + column;
    p.relu = relu;
    return p;
  }
};

void run_flat(const Context& c) {
  const Gather& g = c.g;
  const int64_t rows = int64_t{g.batch} * g.h.result * g.w.result;
  const int64_t blocks = ceil_div(rows, 32);
  const int column_blocks = static_cast<int>(ceil_div(g.result_c, 32));
  const int64_t chunk = std::max<int64_t>(1, kChunkBytes / (32 * c.pixel_bytes));
  const int64_t tasks = blocks * column_blocks;
  const Summand summand{0, 0};
  const auto run = [&](int64_t block, int column_block, TileState& state) {
    const int column = column_block * 32;
    Product p = c.product(column);
    p.summands = &summand;
    p.count = 1;
    p.columns = std::min(32, g.result_c - column);
    p.dst_pitch = g.result_c;
    for (int64_t half = 0; half < 2; ++half) {
      const int64_t row = block * 32 + half * 16;
      p.rows[half] = static_cast<int>(std::clamp<int64_t>(rows - row, 0, 16));
      p.a[half] = c.source + row * c.pixel_bytes;
      p.dst[half] = c.result + row * g.result_c + column;
    }
    product(p, state);
  };
  parallel([&](int thread, int threads) {
    TileState state;
    if (blocks >= 4 * threads) {
      const Range own = share_of(blocks, thread, threads);
      for (int64_t begin = own.begin; begin < own.end; begin += chunk) {
        for (int column = 0; column < column_blocks; ++column) {
          for (int64_t b = begin; b < std::min(own.end, begin + chunk); ++b) run(b, column, state);
        }
      }
    } else {
      const Range own = share_of(tasks, thread, threads);
      for (int64_t t = own.begin; t < own.end; ++t) {
        run(t % blocks, static_cast<int>(t / blocks), state);
      }
    }
    release_tiles(state);
  });
}

/// The taps that meet the source at a pixel of the result.
int summands_at(const Context& c, int h, int w, Summand* summands) {
  const Gather& g = c.g;
  int count = 0;
  for (int kh = 0; kh < g.h.kernel; ++kh) {
    int from_h = 0;
    if (!g.h.inside(h, kh, from_h)) continue;
    for (int kw = 0; kw < g.w.kernel; ++kw) {
      int from_w = 0;
      if (!g.w.inside(w, kw, from_w)) continue;
      const int64_t pixel = int64_t{from_h} * g.w.source + from_w;
      const int64_t tap = int64_t{kh} * g.w.kernel + kw;
      summands[count++] = {pixel * c.pixel_bytes, tap * k_blocks(g) * kTileBytes};
    }
  }
  return count;
}

void run_narrow(const Context& c) {
  const Gather& g = c.g;
  const int64_t pixels = int64_t{g.h.result} * g.w.result;
  const int64_t image_bytes = int64_t{g.h.source} * g.w.source * c.pixel_bytes;
  // Whole pairs of tiles first, 32 columns at a time; then what is left over, 64 at a time: the
  // tiles are configured twice at most.
  const int rest = g.batch % 32;
  const int pairs = g.batch / 32 + (rest > 16 ? 1 : 0);
  const bool single = rest > 0 && rest <= 16;
  const auto pass = [&](int width, int first, int last, int thread, int threads, TileState& state) {
    const int64_t tasks = pixels * ceil_div(g.result_c, width);
    const Range own = share_of(tasks, thread, threads);
    for (int64_t t = own.begin; t < own.end; ++t) {
      const auto h = static_cast<int>(t % pixels / g.w.result);
      const auto w = static_cast<int>(t % pixels % g.w.result);
      const int column = static_cast<int>(t / pixels) * width;
      Summand summands[kMaxTaps];
      Product p = c.product(column);
      p.a_pitch = image_bytes;
      p.summands = summands;
      p.count = summands_at(c, h, w, summands);
      p.columns = std::min(width, g.result_c - column);
      p.dst_pitch = pixels * g.result_c;
      for (int n = first; n < last; n += 32) {
        for (int half = 0; half < 2; ++half) {
          const int image = n + half * 16;
          p.rows[half] = std::clamp(g.batch - image, 0, 16);
          p.a[half] = c.source + image * image_bytes;
          p.dst[half] = c.result + (image * pixels + t % pixels) * g.result_c + column;
        }
        product(p, state);
      }
    }
  };
  parallel([&](int thread, int threads) {
    TileState state;
    if (pairs > 0) pass(32, 0, pairs * 32, thread, threads, state);
    if (single) pass(64, pairs * 32, g.batch, thread, threads, state);
    release_tiles(state);
  });
}

/// The rows `down` of image n, zeros around them.
void copy_band(const Context& c, const WidePlan& plan, int n, Reach down, char* slot) {
  const Gather& g = c.g;
  const int64_t pixel = padded_c(g) * 2;
  const int64_t given = int64_t{g.source_c} * 2;
  const int64_t row_bytes = plan.columns * pixel;
  for (int h = down.first; h <= down.last; ++h) {
    char* to = slot + (h - down.first) * row_bytes;
    if (h < 0 || h >= g.h.source) {
      std::memset(to, 0, static_cast<size_t>(row_bytes));
      continue;
    }
    if (g.segments) {
      const int64_t row = (int64_t{n} * g.h.source + h) * g.segment.in_w * g.segment.in_c;
      gather_segments(g.segment, reinterpret_cast<const uint16_t*>(c.source) + row, 0, g.w.source,
                      reinterpret_cast<uint16_t*>(to));
      continue;  // there are no columns of zeros; what follows is not stored
    }
    const char* from = c.source + (int64_t{n} * g.h.source + h) * g.w.source * given;
    std::memset(to, 0, static_cast<size_t>(plan.left * pixel));
    char* image = to + plan.left * pixel;
    if (pixel == given) {
      std::memcpy(image, from, static_cast<size_t>(g.w.source * given));
    } else {
      for (int w = 0; w < g.w.source; ++w) {
        std::memcpy(image + w * pixel, from + w * given, static_cast<size_t>(given));
        std::memset(image + w * pixel + given, 0, static_cast<size_t>(pixel - given));
      }
    }
    char* right = image + g.w.source * pixel;
    std::memset(right, 0, static_cast<size_t>(to + row_bytes - right));
  }
}

/// All pixels of one phase in a band: phases of a forward pass are one, of a backward pass as many
/// as the stride has pixels.
void run_phase(const Context& c, const WidePlan& plan, int n, Range rows, Reach down, int phase_w,
               int first_h, const char* slot, TileState& state) {
  const Gather& g = c.g;
  const int64_t pixel = padded_c(g) * 2;
  const int64_t row_bytes = plan.columns * pixel;
  Summand summands[kMaxTaps];
  int count = 0;
  for (int kh = 0; kh < g.h.kernel; ++kh) {
    int from_h = 0;
    if (!g.h.source_of(first_h, kh, from_h)) continue;
    for (int kw = 0; kw < g.w.kernel; ++kw) {
      int from_w = 0;
      if (!g.w.source_of(phase_w, kw, from_w)) continue;
      summands[count++] = {(from_h - down.first) * row_bytes + (from_w + plan.left) * pixel,
                           (int64_t{kh} * g.w.kernel + kw) * k_blocks(g) * kTileBytes};
    }
  }
  const int w_count = static_cast<int>(ceil_div(g.w.result - phase_w, g.w.result_step()));
  const int h_count = static_cast<int>(ceil_div(rows.end - first_h, g.h.result_step()));
  const int tiles_w = static_cast<int>(ceil_div(w_count, 16));
  const int tiles = tiles_w * h_count;
  for (int column = 0; column < g.result_c; column += 32) {
    Product p = c.product(column);
    p.summands = summands;
    p.count = count;
    p.whole = true;
    p.a_pitch = pixel * g.w.source_step();
    p.columns = std::min(32, g.result_c - column);
    p.dst_pitch = int64_t{g.w.result_step()} * g.result_c;
    for (int tile = 0; tile < tiles; tile += 2) {
      p.rows[1] = 0;
      for (int half = 0; half < std::min(2, tiles - tile); ++half) {
        const int at_h = (tile + half) / tiles_w;
        const int at_w = (tile + half) % tiles_w * 16;
        p.rows[half] = std::min(16, w_count - at_w);
        p.a[half] =
            slot + at_h * g.h.source_step() * row_bytes + int64_t{at_w} * g.w.source_step() * pixel;
        const int64_t h = first_h + at_h * g.h.result_step();
        const int64_t w = phase_w + at_w * g.w.result_step();
        p.dst[half] =
            c.result + ((n * int64_t{g.h.result} + h) * g.w.result + w) * g.result_c + column;
      }
      product(p, state);
    }
  }
}

void run_wide(const Context& c, char* scratch) {
  const Gather& g = c.g;
  const WidePlan plan(g);
  parallel([&](int thread, int threads) {
    TileState state;
    char* slot = scratch + thread * plan.slot_bytes;
    const Range own = share_of(int64_t{g.batch} * plan.bands, thread, threads);
    for (int64_t task = own.begin; task < own.end; ++task) {
      const int n = static_cast<int>(task / plan.bands);
      const int64_t first = task % plan.bands * plan.band;
      const Range rows{first, std::min<int64_t>(g.h.result, first + plan.band)};
      const Reach down = reach(g.h, static_cast<int>(rows.begin), static_cast<int>(rows.end));
      copy_band(c, plan, n, down, slot);
      for (int ph = 0; ph < g.h.result_step(); ++ph) {
        if (rows.begin + ph >= rows.end) break;
        for (int pw = 0; pw < std::min(g.w.result_step(), g.w.result); ++pw) {
          run_phase(c, plan, n, rows, down, pw, static_cast<int>(rows.begin) + ph, slot, state);
        }
      }
    }
    release_tiles(state);
  });
}

}  // namespace

bool uses_segments(const AmxConv& p) { return p.in_c < 16 && p.dilation_w == 1 && p.kernel_w > 1; }

AmxConv with_segments(const AmxConv& problem) {
  AmxConv p = problem;
  p.in_c = p.kernel_w * p.in_c;
  p.in_w = p.out_w;
  p.kernel_w = p.stride_w = 1;
  p.pad_left = 0;
  return p;
}

Segments segments_of(const AmxConv& p) {
  return {p.in_w,     p.in_c,     p.kernel_w,
          p.stride_w, p.pad_left, ceil_div(int64_t{p.kernel_w} * p.in_c, 32) * 32};
}

Gather forward_gather(const AmxConv& problem) {
  Gather g;
  g.segments = uses_segments(problem);
  if (g.segments) g.segment = segments_of(problem);
  const AmxConv p = g.segments ? with_segments(problem) : problem;
  g.batch = p.batch;
  g.h = {p.out_h, p.in_h, p.kernel_h, p.stride_h, p.dilation_h, p.pad_top, false};
  g.w = {p.out_w, p.in_w, p.kernel_w, p.stride_w, p.dilation_w, p.pad_left, false};
  g.source_c = p.in_c;
  g.result_c = p.out_c;
  return g;
}

Gather backward_gather(const AmxConv& p) {
  Gather g;
  g.batch = p.batch;
  g.h = {p.in_h, p.out_h, p.kernel_h, p.stride_h, p.dilation_h, p.pad_top, true};
  g.w = {p.in_w, p.out_w, p.kernel_w, p.stride_w, p.dilation_w, p.pad_left, true};
  g.source_c = p.out_c;
  g.result_c = p.in_c;
  return g;
}

int64_t tiled_weights_bytes(const Gather& g) {
  return ceil_div(g.result_c, 16) * column_tile_bytes(g);
}

size_t gather_scratch_bytes(const Gather& g) {
  const int64_t wide =
      mode_of(g) == Mode::wide ? WidePlan(g).slot_bytes * thread_count() : int64_t{0};
  return static_cast<size_t>(padding_bytes(g) + wide);
}

void run_gather(const Gather& g, const uint16_t* source, const char* weights, const float* bias,
                bool relu, uint16_t* result, void* scratch) {
  Context c{g,
            reinterpret_cast<const char*>(source),
            weights,
            bias,
            relu,
            result,
            int64_t{g.source_c} * 2};
  if (needs_padding(g)) {
    pad_channels(g, source, static_cast<uint16_t*>(scratch));
    c.source = static_cast<const char*>(scratch);
    c.pixel_bytes = padded_c(g) * 2;
  }
  switch (mode_of(g)) {
    case Mode::flat:
      return run_flat(c);
    case Mode::wide:
      return run_wide(c, static_cast<char*>(scratch) + padding_bytes(g));
    case Mode::narrow:
      return run_narrow(c);
  }
}

}  // namespace syrtos::ops::native::amx

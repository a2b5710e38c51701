#pragma once

#include <cstdint>

#include "syrtos/ops/native/conv_wgrad_words.isa.h"

// Packing for conv_wgrad.isa.cc, the only file that includes this one: one line (all pixels of one
// image row, all images of the block) of src or diff_dst from channels-last order into panels
// [panel][line][pixel][image][channel of the panel]. Images are innermost so that the pixels a tap
// sees are long contiguous runs even where the image is 1 x 1, and so that two bf16 images fill
// one word without ever straddling the border of a tap.

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

// Whether any tap of the axis reads position `at` for an output in [out_begin, out_end).
inline bool touched(int at, int pad, int kernel, int dilation, int stride, int out_begin,
                    int out_end) {
  for (int tap = 0; tap < kernel; ++tap) {
    const int scaled = at + pad - tap * dilation;
    if (scaled >= out_begin * stride && scaled < out_end * stride && scaled % stride == 0) {
      return true;
    }
  }
  return false;
}

// Where column w of src lies in a packed line: columns of equal remainder by the stride stand
// together, so that a tap reads neighbouring ones whatever the stride.
inline int packed_column(int w, int width, int stride) {
  const int phase = w % stride;
  return phase * (width / stride) + least(phase, width % stride) + w / stride;
}

inline int panel_start(const ConvWgrad& p, const WgradPlan& plan, int panel) {
  const int unit = static_cast<int>(p.layout.i_pack);
  return static_cast<int>(int64_t{plan.rows / unit} * panel / plan.i_panels) * unit;
}

// Some panels that are packed together, and where the first of them lies.
struct Part {
  int begin, end;  // at most kPartPanels
  float* to;
};
constexpr int kPartPanels = 16;

// The share of one panel in a packed pixel.
struct Piece {
  float* to;  // the panel
  int channel;
  int count;
  int width;
};

// Collects a few pixels of a line and packs them together: reading several neighbours of an image
// before going on to the next image keeps reads in runs of 1 to 2 KB, while each panel is still
// written in order.
template <Source kSource>
struct Pixels {
  static constexpr int kMost = 8;
  const Images<kSource>& images;
  const Part& part;
  int words;  // of k per pixel
  int count = 0;
  Piece pieces[kPartPanels] = {};
  int64_t element[kMost] = {};
  int64_t place[kMost] = {};

  void add(int64_t from, int64_t to) {
    element[count] = from;
    place[count] = to * words;
    if (++count == kMost) flush();
  }

  void flush() {
    const int piece_count = part.end - part.begin;
    for (int word = 0; word < words; ++word) {
      for (int pixel = 0; pixel < count; ++pixel) {
        const char* first = images.at(word, element[pixel]);
        const char* second = images.second(word, first);
        for (int i = 0; i < piece_count; ++i) {
          const Piece& piece = pieces[i];
          const int64_t offset = piece.channel * Images<kSource>::kBytes;
          put_words<kSource>(piece.to + (place[pixel] + word) * piece.width, first + offset,
                             second != nullptr ? second + offset : nullptr, piece.count,
                             piece.width);
        }
      }
    }
    count = 0;
  }
};

// Part of line h of src.
template <Source kSource>
void pack_src_line(const ConvWgrad& p, const WgradPlan& plan, const void* src, const Block& block,
                   int h, const Part& part) {
  const Images<kSource> images(src, int64_t{p.in_h} * p.in_w, p.in_c, block);
  Pixels<kSource> pixels{images, part, block.words};
  for (int i = 0; i < part.end - part.begin; ++i) {
    const int row = panel_start(p, plan, part.begin + i);
    pixels.pieces[i] = {part.to + i * plan.x_panel, row, least(p.in_c - row, plan.x_width),
                        plan.x_width};
  }
  const int64_t line = int64_t{h - block.h_begin} * plan.x_cols;
  const bool all = p.dilation_w == 1 && p.kernel_w >= p.stride_w;
  for (int w = 0; w < p.in_w; ++w) {
    if (!all && !touched(w, p.pad_left, p.kernel_w, p.dilation_w, p.stride_w, 0, p.out_w)) {
      continue;
    }
    pixels.add((int64_t{h} * p.in_w + w) * p.in_c, line + packed_column(w, p.in_w, p.stride_w));
  }
  pixels.flush();
}

#if defined(__AVX512F__)
// Folded kernels without dilation: the rows of a panel come from at most 16 neighbouring elements
// of an image row, so a load masked to the image and a permutation that skips the padding of odd
// channel counts make one packed vector.
template <Source kSource>
void pack_window_line(const ConvWgrad& p, const WgradPlan& plan, const void* src,
                      const Block& block, int h, const Part& part) {
  const Images<kSource> images(src, int64_t{p.in_h} * p.in_w, p.in_c, block);
  const int64_t line = int64_t{h - block.h_begin} * plan.x_cols;
  const int row_elements = p.in_w * p.in_c;
  const auto element_of = [&](int row) { return row / plan.row_c * p.in_c + row % plan.row_c; };
  for (int panel = part.begin; panel < part.end; ++panel) {
    const int first = panel_start(p, plan, panel);
    const int rows = panel_start(p, plan, panel + 1) - first;
    const int begin = element_of(first);
    alignas(64) int from[16] = {};
    __mmask16 real = 0;
    for (int row = 0; row < rows; ++row) {
      if ((first + row) % plan.row_c >= p.in_c) continue;
      from[row] = element_of(first + row) - begin;
      real |= 1U << row;
    }
    const __m512i order = _mm512_load_si512(from);
    float* to = part.to + (panel - part.begin) * plan.x_panel + line * block.words * plan.x_width;
    for (int ow = 0; ow < p.out_w; ++ow) {
      const int element = (ow * p.stride_w - p.pad_left) * p.in_c + begin;
      const auto inside =
          static_cast<__mmask16>(first_lanes(row_elements - element) & ~first_lanes(-element));
      for (int word = 0; word < block.words; ++word, to += plan.x_width) {
        const char* at = images.at(word, int64_t{h} * row_elements + element);
        const __m512i window = load_words<kSource>(inside, at, images.second(word, at));
        store_words(to, _mm512_maskz_permutexvar_epi32(real, order, window), plan.x_width);
      }
    }
  }
}
#endif

// The same for folded kernels: a packed column belongs to an output column and holds the channels
// of all the input columns its kernel row covers, zeros where that reaches beyond the image.
template <Source kSource>
void pack_folded_line(const ConvWgrad& p, const WgradPlan& plan, const void* src,
                      const Block& block, int h, const Part& part) {
#if defined(__AVX512F__)
  if (p.dilation_w == 1) return pack_window_line<kSource>(p, plan, src, block, h, part);
#endif
  const Images<kSource> images(src, int64_t{p.in_h} * p.in_w, p.in_c, block);
  const int64_t line = int64_t{h - block.h_begin} * plan.x_cols;
  float rows[kWgradMaxFolded + 16];
  for (int r = 0; r < plan.rows + 16; ++r) rows[r] = 0;
  const int pad_c = (p.in_c + 3) / 4 * 4;  // may spill over into the next tap, which comes later
  for (int ow = 0; ow < p.out_w; ++ow) {
    for (int word = 0; word < block.words; ++word) {
      for (int kw = 0; kw < p.kernel_w; ++kw) {
        const int w = ow * p.stride_w + kw * p.dilation_w - p.pad_left;
        const bool inside = w >= 0 && w < p.in_w;
        const int64_t element = inside ? (int64_t{h} * p.in_w + w) * p.in_c : 0;
        images.put(rows + kw * plan.row_c, word, element, inside ? p.in_c : 0, pad_c);
      }
      float* to = part.to + ((line + ow) * block.words + word) * plan.x_width;
      for (int panel = part.begin; panel < part.end; ++panel) {
        put_words<Source::f32>(to + (panel - part.begin) * plan.x_panel,
                               rows + panel_start(p, plan, panel), nullptr, plan.x_width,
                               plan.x_width);
      }
    }
  }
}

// Adds the column sums of `count` packed vectors of diff_dst, `pitch` words apart.
template <Source kSource>
Vec column_sum(const float* at, int64_t count, int pitch) {
  Vec sum = {};
  for (int64_t k = 0; k < count; ++k) {
    const Vec words = load(at + k * pitch);
#if defined(__AVX512BF16__)
    if constexpr (kSource == Source::bf16_pairs) {
      const Vec ones = reinterpret_cast<Vec>(_mm512_set1_epi32(0x3F803F80));
      sum = multiply_add<true>(sum, words, ones);
      continue;
    }
#endif
    sum += words;
  }
  return sum;
}

// Part of line oh of diff_dst.
template <Source kSource>
void pack_diff_dst_line(const ConvWgrad& p, const WgradPlan& plan, const void* diff_dst,
                        const Block& block, int oh, const Part& part) {
  const Images<kSource> images(diff_dst, int64_t{p.out_h} * p.out_w, p.out_c, block);
  Pixels<kSource> pixels{images, part, block.words};
  for (int i = 0; i < part.end - part.begin; ++i) {
    const int o = (part.begin + i) * plan.y_width;
    const int count = least(p.out_c - o, plan.y_width);
    pixels.pieces[i] = {part.to + i * plan.y_panel, o, count, count > kLanes ? 2 * kLanes : kLanes};
  }
  const int64_t line = int64_t{oh - block.oh_begin} * p.out_w;
  for (int ow = 0; ow < p.out_w; ++ow) {
    pixels.add((int64_t{oh} * p.out_w + ow) * p.out_c, line + ow);
  }
  pixels.flush();
}

// Adds the sums over one packed line of a panel of diff_dst.
template <Source kSource>
void sum_diff_dst_line(const ConvWgrad& p, const WgradPlan& plan, const Block& block, int oh,
                       int panel, const float* packed, float* bias) {
  const int o = panel * plan.y_width;
  const int width = p.out_c - o > kLanes ? 2 * kLanes : kLanes;
  const int64_t count = int64_t{p.out_w} * block.words;
  packed += (oh - block.oh_begin) * count * width;
  for (int c = 0; c < width; c += kLanes) {
    const Vec sum = column_sum<kSource>(packed + c, count, width);
    for (int lane = 0; lane < kLanes; ++lane) bias[o + c + lane] += sum[lane];
  }
}

}  // namespace
}  // namespace syrtos::ops::native::SYRTOS_ISA

#include "syrtos/ops/native/recurrence_kernels.h"
#include "syrtos/ops/native/vector_math.h"

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

constexpr int kPanelVectors = kPanelColumns / kLanes;
// Sums that the registers hold beside a row of the panel.
constexpr int kRowsAtOnce = kLanes == 16 ? 12 : kLanes == 8 ? 3 : 1;

[[gnu::always_inline]] inline Vec everywhere(const float* value) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vec>(_mm512_set1_ps(*value));
#else
  return broadcast(*value);
#endif
}

template <int kRows>
void block(const float* rows, int64_t row_pitch, const float* panel, int64_t depth, float* result,
           int64_t pitch) {
  Vec sums[kRows][kPanelVectors] = {};
  for (int64_t k = 0; k < depth; ++k) {
    Vec m[kPanelVectors];
    for (int v = 0; v < kPanelVectors; ++v) m[v] = load(panel + k * kPanelColumns + v * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const Vec x = everywhere(rows + r * row_pitch + k);
      for (int v = 0; v < kPanelVectors; ++v) sums[r][v] += x * m[v];
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kPanelVectors; ++v) {
      store(result + r * pitch + v * kLanes, sums[r][v]);
    }
  }
}

#if defined(__AVX512BF16__)
/// Two numbers of a row, everywhere.
[[gnu::always_inline]] inline __m512bh pair_everywhere(const uint16_t* pair) {
  int32_t both;
  __builtin_memcpy(&both, pair, sizeof both);
  return reinterpret_cast<__m512bh>(_mm512_set1_epi32(both));
}

template <int kRows>
void block(const uint16_t* rows, int64_t row_pitch, const uint16_t* panel, int64_t depth,
           float* result, int64_t pitch) {
  __m512 sums[kRows][kPanelVectors] = {};
  for (int64_t k = 0; k < depth; k += 2) {
    __m512bh m[kPanelVectors];
    for (int v = 0; v < kPanelVectors; ++v) {
      m[v] = reinterpret_cast<__m512bh>(
          _mm512_loadu_si512(panel + k * kPanelColumns + 2 * v * kLanes));
    }
    for (int r = 0; r < kRows; ++r) {
      const __m512bh x = pair_everywhere(rows + r * row_pitch + k);
      for (int v = 0; v < kPanelVectors; ++v) sums[r][v] = _mm512_dpbf16_ps(sums[r][v], m[v], x);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kPanelVectors; ++v) {
      _mm512_storeu_ps(result + r * pitch + v * kLanes, sums[r][v]);
    }
  }
}
#endif

/// block() for a count of rows that is known only now.
template <int kRows, typename T>
void block_of(int64_t count, const T* rows, int64_t row_pitch, const T* panel, int64_t depth,
              float* result, int64_t pitch) {
  if (count == kRows) {
    block<kRows>(rows, row_pitch, panel, depth, result, pitch);
  } else if constexpr (kRows > 1) {
    block_of<kRows - 1>(count, rows, row_pitch, panel, depth, result, pitch);
  }
}

template <typename T>
void product(const T* rows, int64_t row_pitch, int64_t count, const T* panels, int64_t depth,
             int64_t columns, float* result, int64_t pitch) {
  const int64_t blocks = (count + kRowsAtOnce - 1) / kRowsAtOnce;
  for (int64_t column = 0; column < columns; column += kPanelColumns) {
    for (int64_t b = 0; b < blocks; ++b) {  // blocks of nearly the same size
      const int64_t begin = count * b / blocks;
      block_of<kRowsAtOnce>(count * (b + 1) / blocks - begin, rows + begin * row_pitch, row_pitch,
                            panels + column * depth, depth, result + begin * pitch + column, pitch);
    }
  }
}

#if defined(__AVX512BF16__)
constexpr auto kProductOfHalves = product<uint16_t>;
#else
constexpr decltype(RecurrenceKernels::product_of_halves) kProductOfHalves = nullptr;
#endif

template <typename T>
inline T* row_of(void* base, int64_t row, int64_t width) {
  return static_cast<T*>(base) + row * width;
}
template <typename T>
inline const T* row_of(const void* base, int64_t row, int64_t width) {
  return base == nullptr ? nullptr : static_cast<const T*>(base) + row * width;
}

/// Zeros in T [width] of the row, if there is an array.
template <typename T>
inline void clear(void* base, int64_t row, int64_t width) {
  if (base == nullptr) return;
  T* to = row_of<T>(base, row, width);
  for (int64_t i = 0; i < width; ++i) to[i] = T{};
}

template <typename Cell>
inline bool is_beyond(const Cell& cell, int64_t row) {
  return cell.lengths != nullptr && cell.step >= cell.lengths[row];
}

template <typename T, int kGates, int kKept, typename Unit>
void forward_rows(const CellForward& cell, Unit&& unit) {
  const int64_t units = cell.units;
  for (int64_t row = 0; row < cell.rows; ++row) {
    if (is_beyond(cell, row)) {
      clear<T>(cell.hidden, row, units);
      clear<float>(cell.kept, row, kKept * units);
      clear<float>(cell.h, row, units);
      clear<float>(cell.c, row, units);
      continue;
    }
    const T* projected = row_of<T>(cell.projected, row, kGates * units);
    const float* products = cell.products + row * cell.pitch;
    T* hidden = row_of<T>(cell.hidden, row, units);
    float* kept = kKept > 0 ? cell.kept + row * kKept * units : nullptr;
    float* h = cell.h + row * units;
    float* c = cell.c == nullptr ? nullptr : cell.c + row * units;
    for_each_tile(0, units, [&](const auto& tile) {
      for (int v = 0; v < tile.kVectors; ++v) {
        const auto own = [&](int gate) { return tile.get(projected + gate * units, v); };
        const auto u = [&](int gate) {
          return tile.get(products + gate * units, v) + tile.get(cell.bias + gate * units, v);
        };
        const auto keep = [&](int what, Vec value) { tile.put(kept + what * units, v, value); };
        const Vec next = unit(tile, v, own, u, keep, h, c);
        tile.put(h, v, next);
        tile.put(hidden, v, next);
      }
    });
  }
}

template <typename T, bool kRelu>
void rnn_forward(const CellForward& cell) {
  forward_rows<T, 1, 0>(cell, [](const auto& /*tile*/, int /*v*/, const auto& own, const auto& u,
                                 const auto& /*keep*/, float* /*h*/, float* /*c*/) {
    const Vec sum = own(0) + u(0);
    return kRelu ? relu(sum) : vec_tanh(sum);
  });
}

template <typename T>
void lstm_forward(const CellForward& cell) {
  forward_rows<T, 4, 5>(cell, [](const auto& tile, int at, const auto& own, const auto& u,
                                 const auto& keep, float* /*h*/, float* c) {
    const Vec i = vec_sigmoid(own(0) + u(0));
    const Vec f = vec_sigmoid(own(1) + u(1));
    const Vec g = vec_tanh(own(2) + u(2));
    const Vec o = vec_sigmoid(own(3) + u(3));
    const Vec next = f * tile.get(c, at) + i * g;
    tile.put(c, at, next);
    keep(0, i);
    keep(1, f);
    keep(2, g);
    keep(3, o);
    keep(4, next);
    return o * vec_tanh(next);
  });
}

template <typename T>
void gru_forward(const CellForward& cell) {
  forward_rows<T, 3, 4>(cell, [](const auto& tile, int at, const auto& own, const auto& u,
                                 const auto& keep, float* h, float* /*c*/) {
    const Vec r = vec_sigmoid(own(0) + u(0));
    const Vec z = vec_sigmoid(own(1) + u(1));
    const Vec through = u(2);
    const Vec n = vec_tanh(own(2) + r * through);
    keep(0, r);
    keep(1, z);
    keep(2, n);
    keep(3, through);
    return n + z * (tile.get(h, at) - n);
  });
}

/// What a unit of backward_rows() computes with; numbers before the first step are 0.
template <typename T>
struct RowBackward {
  const T* hidden;
  const T* hidden_before;
  const float* kept;
  const float* kept_before;
  float* dh;
  float* dc;
};

template <typename T, int kGates, int kKept, typename Unit>
void backward_rows(const CellBackward& cell, Unit&& unit) {
  const int64_t units = cell.units;
  for (int64_t row = 0; row < cell.rows; ++row) {
    if (is_beyond(cell, row)) {
      clear<float>(cell.dh, row, units);
      clear<float>(cell.dc, row, units);
      clear<float>(cell.recurrent, row, kGates * units);
      clear<T>(cell.diff, row, kGates * units);
      clear<T>(cell.stored, row, kGates * units);
      continue;
    }
    const RowBackward<T> x{row_of<T>(cell.hidden, row, units),
                           row_of<T>(cell.hidden_before, row, units),
                           row_of<float>(cell.kept, row, kKept * units),
                           row_of<float>(cell.kept_before, row, kKept * units),
                           cell.dh + row * units,
                           cell.dc == nullptr ? nullptr : cell.dc + row * units};
    const T* diff_hidden = row_of<T>(cell.diff_hidden, row, units);
    float* recurrent = cell.recurrent + row * kGates * units;
    T* diff = row_of<T>(cell.diff, row, kGates * units);
    T* stored = cell.stored == nullptr ? nullptr : row_of<T>(cell.stored, row, kGates * units);
    for_each_tile(0, units, [&](const auto& tile) {
      for (int v = 0; v < tile.kVectors; ++v) {
        const auto give = [&](int gate, Vec own, Vec through) {
          tile.put(diff + gate * units, v, own);
          tile.put(recurrent + gate * units, v, through);
          if (stored != nullptr) tile.put(stored + gate * units, v, through);
        };
        unit(tile, v, x, tile.get(x.dh, v) + tile.get(diff_hidden, v), give);
      }
    });
  }
}

template <typename T, bool kRelu>
void rnn_backward(const CellBackward& cell) {
  backward_rows<T, 1, 0>(
      cell, [](const auto& tile, int at, const RowBackward<T>& x, Vec dh, const auto& give) {
        const Vec h = tile.get(x.hidden, at);
        const Vec diff = kRelu ? relu_mask(h, dh) : dh * (1.0f - h * h);
        give(0, diff, diff);
      });
}

template <typename T>
void lstm_backward(const CellBackward& cell) {
  const int64_t units = cell.units;
  backward_rows<T, 4, 5>(cell, [=](const auto& tile, int at, const RowBackward<T>& x, Vec dh,
                                   const auto& give) {
    const auto kept = [&](int what) { return tile.get(x.kept + what * units, at); };
    const Vec i = kept(0);
    const Vec f = kept(1);
    const Vec g = kept(2);
    const Vec o = kept(3);
    const Vec t = vec_tanh(kept(4));
    const Vec before = x.kept_before == nullptr ? Vec{} : tile.get(x.kept_before + 4 * units, at);
    const Vec dc = tile.get(x.dc, at) + dh * o * (1.0f - t * t);
    const Vec di = dc * g * i * (1.0f - i);
    const Vec df = dc * before * f * (1.0f - f);
    const Vec dg = dc * i * (1.0f - g * g);
    const Vec d_o = dh * t * o * (1.0f - o);
    give(0, di, di);
    give(1, df, df);
    give(2, dg, dg);
    give(3, d_o, d_o);
    tile.put(x.dc, at, dc * f);
  });
}

template <typename T>
void gru_backward(const CellBackward& cell) {
  const int64_t units = cell.units;
  backward_rows<T, 3, 4>(
      cell, [=](const auto& tile, int at, const RowBackward<T>& x, Vec dh, const auto& give) {
        const auto kept = [&](int what) { return tile.get(x.kept + what * units, at); };
        const Vec r = kept(0);
        const Vec z = kept(1);
        const Vec n = kept(2);
        const Vec before = x.hidden_before == nullptr ? Vec{} : tile.get(x.hidden_before, at);
        const Vec dn = dh * (1.0f - z) * (1.0f - n * n);
        const Vec dz = dh * (before - n) * z * (1.0f - z);
        const Vec dr = dn * kept(3) * r * (1.0f - r);
        give(0, dr, dr);
        give(1, dz, dz);
        give(2, dn, dn * r);
        tile.put(x.dh, at, dh * z);
      });
}

}  // namespace

extern const RecurrenceKernels recurrence_kernels;
const RecurrenceKernels recurrence_kernels = {
    product<float>,
    kProductOfHalves,
    {{rnn_forward<float, false>, rnn_forward<float, true>, lstm_forward<float>, gru_forward<float>},
     {rnn_forward<Bf16, false>, rnn_forward<Bf16, true>, lstm_forward<Bf16>, gru_forward<Bf16>}},
    {{rnn_backward<float, false>, rnn_backward<float, true>, lstm_backward<float>,
      gru_backward<float>},
     {rnn_backward<Bf16, false>, rnn_backward<Bf16, true>, lstm_backward<Bf16>,
      gru_backward<Bf16>}},
};

}  // namespace syrtos::ops::native::SYRTOS_ISA

#include "syrtos/ops/native/reorder_kernels.h"

#include "syrtos/ops/native/element.h"

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

static_assert(kTransposeStrip % kLanes == 0);

// One step of a transposition in registers: exchanges the blocks of kDistance x kDistance elements
// off the diagonal. Steps 1, 2, 4 ... kLanes / 2 transpose kLanes x kLanes elements.
template <int kDistance>
[[gnu::always_inline]] inline void exchange(Vec (&tile)[kLanes]) {
  IntVec low{}, high{};
  for (int lane = 0; lane < kLanes; ++lane) {
    const bool second = (lane & kDistance) != 0;
    low[lane] = second ? lane - kDistance + kLanes : lane;
    high[lane] = second ? lane + kLanes : lane + kDistance;
  }
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    if ((i & kDistance) != 0) continue;
    const Vec a = tile[i];
    const Vec b = tile[i + kDistance];
    tile[i] = __builtin_shuffle(a, b, low);
    tile[i + kDistance] = __builtin_shuffle(a, b, high);
  }
  if constexpr (kDistance * 2 < kLanes) exchange<kDistance * 2>(tile);
}

template <typename From, typename To>
void transpose(int64_t rows, int64_t columns, int64_t column_begin, int64_t column_end,
               const void* src, void* dst) {
  for (int64_t c = column_begin; c < column_end; c += kLanes) {
    const int width = column_end - c < kLanes ? static_cast<int>(column_end - c) : kLanes;
    for (int64_t r = 0; r < rows; r += kLanes) {
      const int height = rows - r < kLanes ? static_cast<int>(rows - r) : kLanes;
      const From* from = static_cast<const From*>(src) + r * columns + c;
      To* to = static_cast<To*>(dst) + c * rows + r;
      Vec tile[kLanes];
      if (width == kLanes && height == kLanes) {
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) tile[i] = load(from + i * columns);
        exchange<1>(tile);
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) store(to + i * rows, tile[i]);
      } else {
        for (int i = 0; i < kLanes; ++i) {
          tile[i] = i >= height       ? Vec{}
                    : width == kLanes ? load(from + i * columns)
                                      : load(from + i * columns, width);
        }
        exchange<1>(tile);
        for (int i = 0; i < width; ++i) {
          height == kLanes ? store(to + i * rows, tile[i]) : store(to + i * rows, tile[i], height);
        }
      }
    }
  }
}

}  // namespace

const ReorderKernels reorder_kernels = {
    {{transpose<float, float>, transpose<float, Bf16>},
     {transpose<Bf16, float>, transpose<Bf16, Bf16>}},
};

}  // namespace syrtos::ops::native::SYRTOS_ISA

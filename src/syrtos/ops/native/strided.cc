#include "syrtos/ops/native/strided.h"

#include <cstring>

#include "syrtos/base/parallel.h"

namespace syrtos::ops::native {

namespace {

// An iteration space in the order of one operand's memory, its innermost axis last.
struct Loop {
  int rank = 0;
  std::array<int64_t, Shape::kMaxRank> extent{};
  Strides a{};
  Strides b{};
};

// Orders the axes by falling stride of the second operand (and then of the first), so that the
// innermost loop writes neighbours.
Loop order_axes(const Shape& shape, const Strides& a, const Strides& b) {
  std::array<int, Shape::kMaxRank> order{};
  const auto before = [&](int x, int y) {
    const auto i = static_cast<size_t>(x);
    const auto j = static_cast<size_t>(y);
    return b[i] != b[j] ? b[i] > b[j] : a[i] > a[j];
  };
  // By insertion: std::stable_sort would allocate.
  for (int axis = 0; axis < shape.rank(); ++axis) {
    int at = axis;
    for (; at > 0 && before(axis, order[static_cast<size_t>(at - 1)]); --at) {
      order[static_cast<size_t>(at)] = order[static_cast<size_t>(at - 1)];
    }
    order[static_cast<size_t>(at)] = axis;
  }
  Loop loop;
  loop.rank = shape.rank();
  for (size_t i = 0; i < static_cast<size_t>(loop.rank); ++i) {
    const int axis = order[i];
    loop.extent[i] = shape[axis];
    loop.a[i] = a[static_cast<size_t>(axis)];
    loop.b[i] = b[static_cast<size_t>(axis)];
  }
  return loop;
}

// Calls row(offset in a, offset in b) for every index of all axes but the last, in [begin, end) of
// the outermost one.
template <typename Row>
void for_each_row(const Loop& loop, int axis, int64_t begin, int64_t end, int64_t a, int64_t b,
                  const Row& row) {
  if (axis == loop.rank - 1) {
    row(a, b);
    return;
  }
  const auto i = static_cast<size_t>(axis);
  for (int64_t index = begin; index < end; ++index) {
    const int64_t next = axis + 1 < loop.rank ? loop.extent[i + 1] : 0;
    for_each_row(loop, axis + 1, 0, next, a + index * loop.a[i], b + index * loop.b[i], row);
  }
}

constexpr int64_t kSerialBelow = 2;

float load(const float* p) { return *p; }
float load(const BFloat16* p) { return static_cast<float>(*p); }
void store(float* p, float value) { *p = value; }
void store(BFloat16* p, float value) { *p = BFloat16(value); }

template <typename T>
void reduce(const Shape& shape, const T* src, const Strides& src_strides, T* dst,
            const Strides& dst_strides, float scale) {
  // One output at a time: kept axes outside, reduced axes inside, sums in double.
  Shape kept;
  Shape reduced;
  Strides kept_src{};
  Strides kept_dst{};
  Strides reduced_src{};
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    if (dst_strides[i] == 0) {
      reduced_src[static_cast<size_t>(reduced.rank())] = src_strides[i];
      reduced.append(shape[axis]);
    } else {
      kept_src[static_cast<size_t>(kept.rank())] = src_strides[i];
      kept_dst[static_cast<size_t>(kept.rank())] = dst_strides[i];
      kept.append(shape[axis]);
    }
  }
  kept.append(1);
  reduced.append(1);
  const Loop outer = order_axes(kept, kept_src, kept_dst);
  const Loop inner = order_axes(reduced, Strides{}, reduced_src);
  parallel_for(
      outer.rank > 1 ? outer.extent[0] : 1, 1, kSerialBelow, [&](int64_t begin, int64_t end) {
        for_each_row(outer, 0, begin, end, 0, 0, [&](int64_t from, int64_t to) {
          const int64_t n = outer.extent[static_cast<size_t>(outer.rank - 1)];
          for (int64_t k = 0; k < n; ++k) {
            double sum = 0;
            const int64_t base = from + k * outer.a[static_cast<size_t>(outer.rank - 1)];
            for_each_row(inner, 0, 0, inner.extent[0], 0, 0, [&](int64_t /*a*/, int64_t b) {
              const auto last = static_cast<size_t>(inner.rank - 1);
              for (int64_t j = 0; j < inner.extent[last]; ++j) {
                sum += load(src + base + b + j * inner.b[last]);
              }
            });
            store(dst + to + k * outer.b[static_cast<size_t>(outer.rank - 1)],
                  static_cast<float>(sum) * scale);
          }
        });
      });
}

template <typename T>
void broadcast(const Loop& loop, const T* src, T* dst, float scale) {
  const auto last = static_cast<size_t>(loop.rank - 1);
  parallel_for(loop.rank > 1 ? loop.extent[0] : 1, 1, kSerialBelow,
               [&](int64_t begin, int64_t end) {
                 for_each_row(loop, 0, begin, end, 0, 0, [&](int64_t a, int64_t b) {
                   for (int64_t j = 0; j < loop.extent[last]; ++j) {
                     store(dst + b + j * loop.b[last], scale * load(src + a + j * loop.a[last]));
                   }
                 });
               });
}

}  // namespace

Strides dense_strides(const Shape& shape, bool channels_last) {
  Strides strides{};
  channels_last = channels_last && shape.rank() >= 3;
  int64_t stride = channels_last ? shape[1] : 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (channels_last && axis == 1) continue;
    strides[static_cast<size_t>(axis)] = stride;
    stride *= shape[axis];
  }
  if (channels_last) strides[1] = 1;
  return strides;
}

void strided_copy(const Shape& shape, size_t element_size, const void* src,
                  const Strides& src_strides, void* dst, const Strides& dst_strides) {
  const Loop loop = order_axes(shape, src_strides, dst_strides);
  const auto last = static_cast<size_t>(loop.rank - 1);
  const auto size = static_cast<int64_t>(element_size);
  const auto* source = static_cast<const std::byte*>(src);
  auto* target = static_cast<std::byte*>(dst);
  const bool rows = loop.a[last] == 1 && loop.b[last] == 1;
  parallel_for(
      loop.rank > 1 ? loop.extent[0] : 1, 1, kSerialBelow, [&](int64_t begin, int64_t end) {
        for_each_row(loop, 0, begin, end, 0, 0, [&](int64_t a, int64_t b) {
          const int64_t n = loop.extent[last];
          if (rows) {
            std::memcpy(target + b * size, source + a * size, static_cast<size_t>(n * size));
            return;
          }
          for (int64_t j = 0; j < n; ++j) {
            std::memcpy(target + (b + j * loop.b[last]) * size,
                        source + (a + j * loop.a[last]) * size, element_size);
          }
        });
      });
}

void strided_reduce(const Shape& shape, DType dtype, const void* src, const Strides& src_strides,
                    void* dst, const Strides& dst_strides, float scale) {
  if (dtype == DType::bf16) {
    reduce(shape, static_cast<const BFloat16*>(src), src_strides, static_cast<BFloat16*>(dst),
           dst_strides, scale);
  } else {
    reduce(shape, static_cast<const float*>(src), src_strides, static_cast<float*>(dst),
           dst_strides, scale);
  }
}

void strided_broadcast(const Shape& shape, DType dtype, const void* src, const Strides& src_strides,
                       void* dst, const Strides& dst_strides, float scale) {
  const Loop loop = order_axes(shape, src_strides, dst_strides);
  if (dtype == DType::bf16) {
    broadcast(loop, static_cast<const BFloat16*>(src), static_cast<BFloat16*>(dst), scale);
  } else {
    broadcast(loop, static_cast<const float*>(src), static_cast<float*>(dst), scale);
  }
}

}  // namespace syrtos::ops::native

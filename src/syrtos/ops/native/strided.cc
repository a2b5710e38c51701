#include "syrtos/ops/native/strided.h"

#include <cstring>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"

namespace syrtos::ops::native {

namespace {

constexpr int64_t kSerialBelow = 16 << 10;  // elements that are not worth waking threads

// An iteration space in the order of one operand's memory, its innermost axis last.
struct Loop {
  int rank = 0;
  std::array<int64_t, Shape::kMaxRank> extent{};
  Strides a{};
  Strides b{};

  /// Of all axes but the innermost one.
  int64_t rows() const {
    int64_t product = 1;
    for (int i = 0; i + 1 < rank; ++i) product *= extent[static_cast<size_t>(i)];
    return product;
  }
};

// Axes of more than one element by falling stride of the second operand (and then of the first), so
// that the innermost loop writes neighbours. Axes that follow each other in both become one.
Loop order_axes(const Shape& shape, const Strides& a, const Strides& b) {
  std::array<size_t, Shape::kMaxRank> order{};
  size_t count = 0;
  const auto before = [&](size_t i, size_t j) { return b[i] != b[j] ? b[i] > b[j] : a[i] > a[j]; };
  // By insertion: std::stable_sort would allocate.
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    size_t at = count++;
    for (; at > 0 && before(static_cast<size_t>(axis), order[at - 1]); --at) {
      order[at] = order[at - 1];
    }
    order[at] = static_cast<size_t>(axis);
  }
  Loop loop;
  for (size_t i = 0; i < count; ++i) {
    const size_t axis = order[i];
    const int64_t extent = shape[static_cast<int>(axis)];
    const auto last = static_cast<size_t>(loop.rank - 1);
    if (loop.rank > 0 && loop.a[last] == a[axis] * extent && loop.b[last] == b[axis] * extent) {
      loop.extent[last] *= extent;
      loop.a[last] = a[axis];
      loop.b[last] = b[axis];
      continue;
    }
    loop.extent[last + 1] = extent;
    loop.a[last + 1] = a[axis];
    loop.b[last + 1] = b[axis];
    ++loop.rank;
  }
  if (loop.rank == 0) {
    loop.rank = 1;
    loop.extent[0] = 1;
  }
  return loop;
}

// Calls row(offset in a, offset in b) for the rows [begin, end).
template <typename Row>
void for_each_row(const Loop& loop, int64_t begin, int64_t end, const Row& row) {
  std::array<int64_t, Shape::kMaxRank> index{};
  int64_t a = 0;
  int64_t b = 0;
  int64_t rest = begin;
  for (int axis = loop.rank - 2; axis >= 0; --axis) {
    const auto i = static_cast<size_t>(axis);
    index[i] = rest % loop.extent[i];
    rest /= loop.extent[i];
    a += index[i] * loop.a[i];
    b += index[i] * loop.b[i];
  }
  for (int64_t number = begin; number < end; ++number) {
    row(a, b);
    for (int axis = loop.rank - 2; axis >= 0; --axis) {
      const auto i = static_cast<size_t>(axis);
      a += loop.a[i];
      b += loop.b[i];
      if (++index[i] < loop.extent[i]) break;
      index[i] = 0;
      a -= loop.extent[i] * loop.a[i];
      b -= loop.extent[i] * loop.b[i];
    }
  }
}

template <typename T>
void copy(const Loop& loop, const T* src, T* dst) {
  const auto last = static_cast<size_t>(loop.rank - 1);
  const int64_t n = loop.extent[last];
  const int64_t from = loop.a[last];
  const int64_t to = loop.b[last];
  const bool neighbours = from == 1 && to == 1;
  parallel_for(loop.rows(), 1, kSerialBelow / n + 1, [&](int64_t begin, int64_t end) {
    for_each_row(loop, begin, end, [&](int64_t a, int64_t b) {
      if (neighbours) {
        std::memcpy(dst + b, src + a, static_cast<size_t>(n) * sizeof(T));
        return;
      }
      for (int64_t j = 0; j < n; ++j) dst[b + j * to] = src[a + j * from];
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
  if (element_size == 4) {
    copy(loop, static_cast<const uint32_t*>(src), static_cast<uint32_t*>(dst));
  } else if (element_size == 2) {
    copy(loop, static_cast<const uint16_t*>(src), static_cast<uint16_t*>(dst));
  } else {
    SYRTOS_CHECK(element_size == 1, "element_size = {}", element_size);
    copy(loop, static_cast<const uint8_t*>(src), static_cast<uint8_t*>(dst));
  }
}

}  // namespace syrtos::ops::native

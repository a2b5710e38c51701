#include "syrtos/ops/native/reorder.h"

#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/dispatch.h"
#include "syrtos/ops/native/reorder_kernels.h"

namespace syrtos::ops::native {
namespace {

constexpr int64_t kSerialBelow = 16 << 10;  // elements that are not worth waking threads

const ReorderKernels& kernels() {
  static const ReorderKernels& table = SYRTOS_SELECT_KERNELS(reorder_kernels);
  return table;
}

}  // namespace

void transpose(int64_t batch, int64_t rows, int64_t columns, DType src_dtype, const void* src,
               DType dst_dtype, void* dst) {
  if (batch * rows * columns == 0) return;
  const auto kernel = kernels().transpose[index_of(src_dtype)][index_of(dst_dtype)];
  const int64_t matrix = rows * columns;
  const int64_t src_bytes = matrix * static_cast<int64_t>(size_of(src_dtype));
  const int64_t dst_bytes = matrix * static_cast<int64_t>(size_of(dst_dtype));
  // The unit of work is a strip of columns of one matrix.
  const int64_t strips = (columns + kTransposeStrip - 1) / kTransposeStrip;
  const int64_t serial_below = kSerialBelow / (rows * kTransposeStrip) + 1;
  parallel_for(batch * strips, 1, serial_below, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t n = begin / strips;
      const int64_t first = begin - n * strips;
      const int64_t last = end - n * strips < strips ? end - n * strips : strips;
      const int64_t column_end =
          last * kTransposeStrip < columns ? last * kTransposeStrip : columns;
      kernel(rows, columns, first * kTransposeStrip, column_end,
             static_cast<const char*>(src) + n * src_bytes,
             static_cast<char*>(dst) + n * dst_bytes);
      begin = n * strips + last;
    }
  });
}

}  // namespace syrtos::ops::native

#include "syrtos/ops/native/softmax_loss.h"

#include <type_traits>

#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/dispatch.h"
#include "syrtos/ops/native/softmax_loss_kernels.h"

namespace syrtos::ops::native {
namespace {

constexpr int64_t kSerialBelow = 4 << 10;  // elements that are not worth waking threads

const SoftmaxLossKernels& kernels() {
  static const SoftmaxLossKernels& table = SYRTOS_SELECT_KERNELS(softmax_loss_kernels);
  return table;
}

// The address of a row; null stays null.
template <typename Pointer>
Pointer row_of(Pointer p, DType dtype, int64_t row, int64_t classes) {
  using Byte =
      std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const char, char>;
  if (p == nullptr) return nullptr;
  return static_cast<Byte*>(p) + row * classes * static_cast<int64_t>(size_of(dtype));
}

template <typename Body>
void for_rows(int64_t rows, int64_t classes, Body&& body) {
  if (classes == 0) return;
  parallel_for(rows, 1, kSerialBelow / classes + 1, body);
}

}  // namespace

void softmax(DType dtype, int64_t rows, int64_t classes, const void* src, void* dst) {
  const auto kernel = kernels().softmax[index_of(dtype)];
  for_rows(rows, classes, [&](int64_t begin, int64_t end) {
    kernel(end - begin, classes, row_of(src, dtype, begin, classes),
           row_of(dst, dtype, begin, classes));
  });
}

void log_softmax(DType dtype, int64_t rows, int64_t classes, const void* src, void* dst) {
  const auto kernel = kernels().log_softmax[index_of(dtype)];
  for_rows(rows, classes, [&](int64_t begin, int64_t end) {
    kernel(end - begin, classes, row_of(src, dtype, begin, classes),
           row_of(dst, dtype, begin, classes));
  });
}

void softmax_backward(DType dtype, int64_t rows, int64_t classes, const void* dst,
                      const void* diff_dst, void* diff_src) {
  const auto kernel = kernels().softmax_backward[index_of(dtype)];
  for_rows(rows, classes, [&](int64_t begin, int64_t end) {
    kernel(end - begin, classes, row_of(dst, dtype, begin, classes),
           row_of(diff_dst, dtype, begin, classes), row_of(diff_src, dtype, begin, classes));
  });
}

void log_softmax_backward(DType dtype, int64_t rows, int64_t classes, const void* dst,
                          const void* diff_dst, void* diff_src) {
  const auto kernel = kernels().log_softmax_backward[index_of(dtype)];
  for_rows(rows, classes, [&](int64_t begin, int64_t end) {
    kernel(end - begin, classes, row_of(dst, dtype, begin, classes),
           row_of(diff_dst, dtype, begin, classes), row_of(diff_src, dtype, begin, classes));
  });
}

int64_t find_bad_label(const CrossEntropyShape& shape, const int32_t* labels) {
  for (int64_t r = 0; r < shape.rows; ++r) {
    if (labels[r] < 0 || labels[r] >= shape.classes) return r;
  }
  return -1;
}

int64_t softmax_cross_entropy(const CrossEntropyShape& shape, const SoftmaxCrossEntropy& args) {
  SYRTOS_CHECK(args.mean_loss == nullptr || args.loss != nullptr, "the mean needs the losses");
  const int64_t bad = find_bad_label(shape, args.labels);
  if (bad >= 0) return bad;
  const int64_t classes = shape.classes;
  const auto kernel =
      kernels().cross_entropy[index_of(args.logits_dtype)][index_of(args.probabilities_dtype)];
  for_rows(shape.rows, classes, [&](int64_t begin, int64_t end) {
    kernel(end - begin, classes, shape.smoothing,
           row_of(args.logits, args.logits_dtype, begin, classes), args.labels + begin,
           row_of(args.probabilities, args.probabilities_dtype, begin, classes),
           args.loss == nullptr ? nullptr : args.loss + begin);
  });
  if (args.loss != nullptr && shape.class_weights != nullptr) {
    for (int64_t r = 0; r < shape.rows; ++r) args.loss[r] *= shape.weight(args.labels[r]);
  }
  if (args.mean_loss != nullptr) {
    double sum = 0;
    for (int64_t r = 0; r < shape.rows; ++r) sum += args.loss[r];
    *args.mean_loss = static_cast<float>(sum / static_cast<double>(shape.rows));
  }
  return -1;
}

int64_t softmax_cross_entropy_backward(const CrossEntropyShape& shape, DType probabilities_dtype,
                                       const void* probabilities, const int32_t* labels,
                                       float factor, DType diff_dtype, void* diff_logits) {
  const int64_t bad = find_bad_label(shape, labels);
  if (bad >= 0) return bad;
  const int64_t classes = shape.classes;
  const auto kernel =
      kernels().cross_entropy_backward[index_of(probabilities_dtype)][index_of(diff_dtype)];
  for_rows(shape.rows, classes, [&](int64_t begin, int64_t end) {
    const int64_t together = shape.class_weights == nullptr ? end - begin : 1;
    for (int64_t row = begin; row < end; row += together) {
      kernel(together, classes, shape.smoothing,
             row_of(probabilities, probabilities_dtype, row, classes), labels + row,
             factor * shape.weight(labels[row]), row_of(diff_logits, diff_dtype, row, classes));
    }
  });
  return -1;
}

}  // namespace syrtos::ops::native

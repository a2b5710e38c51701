#include "syrtos/ops/native/batch_norm.h"

#include "syrtos/base/error.h"
#include "syrtos/ops/native/batch_norm_parts.h"
#include "syrtos/ops/native/dispatch.h"

namespace syrtos::ops::native {

namespace {

constexpr int64_t kFewRows = 32;           // per thread: not worth a second parallel region
constexpr int64_t kSerialBelow = 8 << 10;  // elements that are not worth waking threads

int64_t padded(int64_t channels) {
  return (channels + kChannelGrain - 1) / kChannelGrain * kChannelGrain;
}

// Runs first(part, thread), then finish(channel begin, end, partials), then second(part).
template <typename First, typename Finish, typename Second>
void two_passes(const BatchNormShape& shape, BatchNormSplit split, First&& first, Finish&& finish,
                Second&& second) {
  if (split == BatchNormSplit::channels) {
    for_each_part(shape, split, [&](const BatchNormPart& part, int /*thread*/) {
      first(part, 0);
      finish(part.channel_begin, part.channel_end, 1);
      second(part);
    });
    return;
  }
  const int partials = for_each_part(shape, split, first);
  finish(int64_t{0}, shape.channels, partials);
  for_each_part(shape, split, [&](const BatchNormPart& part, int /*thread*/) { second(part); });
}

// One elementwise pass over rows.
template <typename Body>
void one_pass(const BatchNormShape& shape, Body&& body) {
  const int64_t serial_below = (kSerialBelow + shape.channels - 1) / shape.channels;
  parallel_for(shape.rows, 1, serial_below, [&](int64_t begin, int64_t end) {
    body(BatchNormPart{shape.channels, begin, end, 0, shape.channels});
  });
}

}  // namespace

const BatchNormKernels& batch_norm_table() {
  static const BatchNormKernels& table = SYRTOS_SELECT_KERNELS(batch_norm_kernels);
  return table;
}

BatchNormSplit batch_norm_split(const BatchNormShape& shape) {
  const int threads = thread_count();
  if (threads == 1 || shape.rows * shape.channels < kSerialBelow) return BatchNormSplit::none;
  const bool wide = shape.channels >= kChannelGrain * threads;
  return wide && shape.rows < kFewRows * threads ? BatchNormSplit::channels : BatchNormSplit::rows;
}

BatchNormScratch::BatchNormScratch(const BatchNormShape& shape, void* memory)
    : channels(padded(shape.channels)) {
  SYRTOS_CHECK(shape.rows > 0 && shape.channels > 0, "rows = {}, channels = {}", shape.rows,
               shape.channels);
  SYRTOS_CHECK(reinterpret_cast<uintptr_t>(memory) % 64 == 0, "scratch is not aligned");
  float* next = static_cast<float*>(memory);
  for (float*& array : floats) {
    array = next;
    next += channels;
  }
  sums = reinterpret_cast<double*>(next);
}

void BatchNormFirstPass::sample_all_rows() const {
  if (split != BatchNormSplit::rows) return;
  const BatchNormPart all{shape.channels, 0, shape.rows, 0, shape.channels};
  batch_norm_table().sample_shift[index_of(shape.dtype)](all, shape.rows, src, shift);
}

void BatchNormFirstPass::operator()(const BatchNormPart& part, int thread) const {
  const int type = index_of(shape.dtype);
  if (split != BatchNormSplit::rows) {
    batch_norm_table().sample_shift[type](part, shape.rows, src, shift);
  }
  batch_norm_table().sums[type](part, src, shift, scratch.of_thread(thread));
}

BatchNormGradients::BatchNormGradients(const BatchNormBackward& args)
    : mask(args.relu ? args.dst : nullptr), masked(args.diff_residual) {
  if (!args.relu && masked == args.diff_dst) masked = nullptr;
  gradient = masked != nullptr ? masked : args.diff_dst;
  mask_again = masked != nullptr ? nullptr : mask;
}

int64_t batch_norm_scratch_bytes(int64_t channels) {
  const auto floats = BatchNormScratch::kFloats * static_cast<int64_t>(sizeof(float));
  const auto doubles = BatchNormScratch::kThreadDoubles * static_cast<int64_t>(sizeof(double));
  return padded(channels) * (floats + doubles * thread_count());
}

void batch_norm_forward_training(const BatchNormShape& shape, const BatchNormForwardTraining& args,
                                 void* memory) {
  const BatchNormScratch scratch(shape, memory);
  auto [shift, scale, unused1, unused2] = scratch.floats;
  const BatchNormSplit split = batch_norm_split(shape);
  const BatchNormFirstPass first{shape, split, args.src, shift, scratch};
  first.sample_all_rows();
  const BatchNormFactors factors{args.mean, scale, nullptr, args.beta};
  two_passes(
      shape, split, first,
      [&](int64_t begin, int64_t end, int partials) {
        batch_norm_table().finish_forward(scratch.finish(shape.rows, begin, end, partials), shift,
                                          args.gamma, args.epsilon, args.momentum, args.mean,
                                          args.inv_std, scale, args.running_mean, args.running_var);
      },
      [&](const BatchNormPart& part) {
        batch_norm_table().normalize[index_of(shape.dtype)](part, factors, args.src, args.residual,
                                                            args.relu, args.dst);
      });
}

void batch_norm_forward_inference(const BatchNormShape& shape,
                                  const BatchNormForwardInference& args, void* memory) {
  const BatchNormScratch scratch(shape, memory);
  auto [inv_std, scale, unused1, unused2] = scratch.floats;
  batch_norm_table().scale_of(0, shape.channels, args.running_var, args.epsilon, args.gamma,
                              inv_std, scale);
  const BatchNormFactors factors{args.running_mean, scale, nullptr, args.beta};
  one_pass(shape, [&](const BatchNormPart& part) {
    batch_norm_table().normalize[index_of(shape.dtype)](part, factors, args.src, args.residual,
                                                        args.relu, args.dst);
  });
}

void batch_norm_backward(const BatchNormShape& shape, const BatchNormBackward& args, void* memory) {
  const int type = index_of(shape.dtype);
  const BatchNormScratch scratch(shape, memory);
  auto [scale, slope, shift, unused] = scratch.floats;
  const BatchNormGradients use(args);
  const BatchNormFactors factors{args.mean, scale, slope, shift};
  two_passes(
      shape, batch_norm_split(shape),
      [&](const BatchNormPart& part, int thread) {
        batch_norm_table().backward_sums[type](part, args.src, use.mask, args.diff_dst, args.mean,
                                               use.masked, scratch.of_thread(thread));
      },
      [&](int64_t begin, int64_t end, int partials) {
        batch_norm_table().finish_backward(scratch.finish(shape.rows, begin, end, partials),
                                           args.gamma, args.inv_std, args.diff_gamma,
                                           args.diff_beta, scale, slope, shift);
      },
      [&](const BatchNormPart& part) {
        batch_norm_table().backward_data[type](part, factors, args.src, use.mask_again,
                                               use.gradient, args.diff_src);
      });
}

}  // namespace syrtos::ops::native

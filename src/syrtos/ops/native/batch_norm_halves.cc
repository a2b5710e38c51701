// Batch norm over a batch that is spread over workers.
//
// Worker i has m_i of the M rows (all samples have as many pixels, so m_i / M is its share of the
// samples too). What is added up over the workers:
//
//   forward    m_i,  sum x,  sum x^2      ->  M, mean, variance of the whole batch
//   backward   m_i,  m_i sum g,  m_i sum g x^
//
// Why m_i in the backward sums. Alone, with the gradients g of the mean loss over all M rows, it is
//
//   diff_src = gamma inv_std (g - B / M - x^ G / M),   B = sum g,  G = sum g x^  over all rows.
//
// The loss of worker i is the mean over its own rows: what reaches it is g_i = g M / m_i, and what
// it hands on must be diff_src_i = diff_src M / m_i, because its weight gradients are weighted by
// m_i / M when the workers' are added up. With B_i = sum g_i over its own rows, B = sum_j B_j m_j /
// M, and likewise G. Multiplied by M / m_i the line above reads
//
//   diff_src_i = gamma inv_std (g_i - B' - x^ G'),   B' = B / m_i = (sum_j m_j B_j) / (M m_i),
//
// and G' likewise. diff_beta = B_i and diff_gamma = G_i stay what this worker adds to the weighted
// sum: sum_j (m_j / M) B_j = B.
//
// Precision. The workers' sums meet as floats, and variance = sum x^2 / M - mean^2 loses (mean /
// deviation)^2 of their precision, too much for 24 bits. So sums of the forward direction are pairs
// of floats: the first twelve bits of the number and the rest. Twelve bits of W workers add up
// exactly as long as their numbers' ratio times W is below 4096; the rest is below 2^-11 of the
// whole, so roundings of it are below 2^-35. The variance is then off by a few times 2^-35 (mean /
// deviation)^2 of itself: 6e-5 at a thousand deviations, where the elements themselves are off by
// as many deviations. Beyond that ratio nothing worse happens than with plain floats. No common
// origin, such as the running mean, is needed; within a worker sums are doubles, taken relative to
// something near its mean. The backward sums are not subtracted from each other: plain floats do.

#include <bit>

#include "syrtos/base/error.h"
#include "syrtos/ops/native/batch_norm_parts.h"
#include "syrtos/ops/native/dispatch.h"

namespace syrtos::ops::native {

namespace {

/// Numbers as pairs of floats: all first ones, then all second ones.
template <typename Float>
struct Pairs {
  Float* first;
  int64_t count;

  void set(int64_t i, double value) const {
    const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
    first[i] = std::bit_cast<float>(bits & 0xFFFFF000U);
    first[count + i] = static_cast<float>(value - static_cast<double>(first[i]));
  }
  double get(int64_t i) const {
    return static_cast<double>(first[i]) + static_cast<double>(first[count + i]);
  }
};

/// The sums over channels as they go to the other workers. The last pair is the number of rows.
template <typename Float>
Pairs<Float> forward_pairs(std::span<Float> sums, int64_t channels) {
  SYRTOS_CHECK(static_cast<int64_t>(sums.size()) == batch_norm_forward_sums(channels), "{} sums",
               sums.size());
  return {sums.data(), 2 * channels + 1};
}

void check_backward(std::span<const float> sums, int64_t channels) {
  SYRTOS_CHECK(static_cast<int64_t>(sums.size()) == batch_norm_backward_sums(channels), "{} sums",
               sums.size());
}

/// Adds the sums of the other threads to those of the first, in their order.
BatchNormSums combined(const BatchNormScratch& scratch, int64_t channels, int partials) {
  const BatchNormSums sums = scratch.of_thread(0);
  for (int thread = 1; thread < partials; ++thread) {
    const BatchNormSums other = scratch.of_thread(thread);
    for (int64_t c = 0; c < channels; ++c) sums.first[c] += other.first[c];
    for (int64_t c = 0; c < channels; ++c) sums.second[c] += other.second[c];
  }
  return sums;
}

}  // namespace

int64_t batch_norm_forward_sums(int64_t channels) { return 2 * (2 * channels + 1); }
int64_t batch_norm_backward_sums(int64_t channels) { return 2 * channels + 1; }

void batch_norm_forward_first(const BatchNormShape& shape, const void* src, std::span<float> sums,
                              void* memory) {
  const BatchNormScratch scratch(shape, memory);
  const int64_t channels = shape.channels;
  const auto rows = static_cast<double>(shape.rows);
  float* shift = scratch.floats[0];
  const BatchNormFirstPass pass{shape, batch_norm_split(shape), src, shift, scratch};
  pass.sample_all_rows();
  const int partials = for_each_part(shape, pass.split, pass);
  const BatchNormSums own = combined(scratch, channels, partials);
  const Pairs<float> pairs = forward_pairs(sums, channels);
  for (int64_t c = 0; c < channels; ++c) {
    const double origin = shift[c];
    pairs.set(c, own.first[c] + rows * origin);
    pairs.set(channels + c, own.second[c] + origin * (2 * own.first[c] + rows * origin));
  }
  pairs.set(2 * channels, rows);
}

void batch_norm_forward_second(const BatchNormShape& shape, const BatchNormForwardTraining& args,
                               std::span<const float> sums, void* memory) {
  const BatchNormScratch scratch(shape, memory);
  const int64_t channels = shape.channels;
  auto [shift, scale, unused1, unused2] = scratch.floats;
  const Pairs<const float> pairs = forward_pairs(sums, channels);
  const BatchNormSums whole = scratch.of_thread(0);
  for (int64_t c = 0; c < channels; ++c) {
    shift[c] = 0;
    whole.first[c] = pairs.get(c);
    whole.second[c] = pairs.get(channels + c);
  }
  const auto rows = static_cast<int64_t>(pairs.get(2 * channels) + 0.5);
  batch_norm_table().finish_forward(scratch.finish(rows, 0, channels, 1), shift, args.gamma,
                                    args.epsilon, args.momentum, args.mean, args.inv_std, scale,
                                    args.running_mean, args.running_var);
  const BatchNormFactors factors{args.mean, scale, nullptr, args.beta};
  for_each_part(shape, batch_norm_split(shape), [&](const BatchNormPart& part, int /*thread*/) {
    batch_norm_table().normalize[index_of(shape.dtype)](part, factors, args.src, args.residual,
                                                        args.relu, args.dst);
  });
}

void batch_norm_backward_first(const BatchNormShape& shape, const BatchNormBackward& args,
                               std::span<float> sums, void* memory) {
  const BatchNormScratch scratch(shape, memory);
  const int64_t channels = shape.channels;
  const auto rows = static_cast<float>(shape.rows);
  check_backward(sums, channels);
  const BatchNormGradients use(args);
  const int partials =
      for_each_part(shape, batch_norm_split(shape), [&](const BatchNormPart& part, int thread) {
        batch_norm_table().backward_sums[index_of(shape.dtype)](
            part, args.src, use.mask, args.diff_dst, args.mean, use.masked,
            scratch.of_thread(thread));
      });
  const BatchNormSums own = combined(scratch, channels, partials);
  for (int64_t c = 0; c < channels; ++c) {
    args.diff_beta[c] = static_cast<float>(own.first[c]);
    args.diff_gamma[c] = static_cast<float>(own.second[c]) * args.inv_std[c];
  }
  float* to = sums.data();
  for (int64_t c = 0; c < channels; ++c) to[c] = rows * args.diff_beta[c];
  for (int64_t c = 0; c < channels; ++c) to[channels + c] = rows * args.diff_gamma[c];
  to[2 * channels] = rows;
}

void batch_norm_backward_second(const BatchNormShape& shape, const BatchNormBackward& args,
                                std::span<const float> sums, void* memory) {
  const BatchNormScratch scratch(shape, memory);
  const int64_t channels = shape.channels;
  check_backward(sums, channels);
  auto [scale, slope, shift, unused] = scratch.floats;
  const float* whole = sums.data();
  const float inverse = 1.0F / (whole[2 * channels] * static_cast<float>(shape.rows));
  for (int64_t c = 0; c < channels; ++c) {
    scale[c] = args.gamma[c] * args.inv_std[c];
    slope[c] = -scale[c] * args.inv_std[c] * (whole[channels + c] * inverse);
    shift[c] = -scale[c] * (whole[c] * inverse);
  }
  const BatchNormGradients use(args);
  const BatchNormFactors factors{args.mean, scale, slope, shift};
  for_each_part(shape, batch_norm_split(shape), [&](const BatchNormPart& part, int /*thread*/) {
    batch_norm_table().backward_data[index_of(shape.dtype)](part, factors, args.src, use.mask_again,
                                                            use.gradient, args.diff_src);
  });
}

}  // namespace syrtos::ops::native

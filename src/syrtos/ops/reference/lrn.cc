#include "syrtos/ops/lrn.h"

#include <algorithm>
#include <cmath>

#include "syrtos/ops/reference/index.h"

namespace syrtos::ops {

namespace {

/// Calls body(channel) for the `size` channels around c that exist.
template <typename Body>
void for_neighbours(const Planes& planes, int64_t c, int64_t size, Body&& body) {
  const int64_t begin = std::max<int64_t>(0, c - size / 2);
  const int64_t end = std::min(planes.channels, c + size / 2 + 1);
  for (int64_t channel = begin; channel < end; ++channel) body(channel);
}

/// k + alpha / size * the sum of src^2 over the neighbours of channel c.
template <typename Norm>
double base_of(const Norm& norm, const RefTensor& src, const Planes& planes, int64_t n, int64_t c,
               int64_t p) {
  double sum = 0;
  for_neighbours(planes, c, norm.size, [&](int64_t channel) {
    const double value = src[planes.at(n, channel, p)];
    sum += value * value;
  });
  return static_cast<double>(norm.k) +
         static_cast<double>(norm.alpha) / static_cast<double>(norm.size) * sum;
}

}  // namespace

// dst = src * base^-beta
void LocalResponseNorm::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                                  const Step& /*step*/) const {
  const RefTensor& src = inputs[0];
  const Planes planes(src.shape);
  for (int64_t n = 0; n < planes.batch; ++n) {
    for (int64_t c = 0; c < planes.channels; ++c) {
      for (int64_t p = 0; p < planes.pixels; ++p) {
        const int64_t i = planes.at(n, c, p);
        outputs[0][i] =
            src[i] * std::pow(base_of(*this, src, planes, n, c, p), -static_cast<double>(beta));
      }
    }
  }
}

// diff_src[c] = diff_dst[c] * base[c]^-beta
//   - 2 alpha beta / size * src[c] * sum over neighbours j of diff_dst[j] src[j] base[j]^(-beta-1)
void LocalResponseNormBackward::reference(std::span<const RefTensor> inputs,
                                          std::span<RefTensor> outputs,
                                          const Step& /*step*/) const {
  const RefTensor& src = inputs[0];
  const RefTensor& diff_dst = inputs[1];
  const Planes planes(src.shape);
  const double power = -static_cast<double>(beta);
  const double factor = 2.0 * static_cast<double>(alpha) * power / static_cast<double>(size);
  for (int64_t n = 0; n < planes.batch; ++n) {
    for (int64_t c = 0; c < planes.channels; ++c) {
      for (int64_t p = 0; p < planes.pixels; ++p) {
        double sum = 0;
        for_neighbours(planes, c, size, [&](int64_t j) {
          const int64_t at = planes.at(n, j, p);
          sum +=
              diff_dst[at] * src[at] * std::pow(base_of(*this, src, planes, n, j, p), power - 1.0);
        });
        const int64_t i = planes.at(n, c, p);
        outputs[0][i] = diff_dst[i] * std::pow(base_of(*this, src, planes, n, c, p), power) +
                        factor * src[i] * sum;
      }
    }
  }
}

}  // namespace syrtos::ops

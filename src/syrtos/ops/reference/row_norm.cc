// Layer norm and group norm: sets of elements that are brought to mean 0 and variance 1 together,
// and of which each belongs to one gamma and one beta.

#include <cmath>

#include "syrtos/ops/group_norm.h"
#include "syrtos/ops/layer_norm.h"

namespace syrtos::ops {

namespace {

/// `sets` sets of neighbours, `size` elements each; element i of a set belongs to gamma
/// gamma(set, i).
struct Sets {
  int64_t sets;
  int64_t size;
};

template <typename Gamma>
void normalise(const Sets& s, std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
               double epsilon, Gamma&& gamma) {
  const RefTensor& src = inputs[0];
  for (int64_t set = 0; set < s.sets; ++set) {
    const int64_t first = set * s.size;
    double mean = 0;
    for (int64_t i = 0; i < s.size; ++i) mean += src[first + i] / static_cast<double>(s.size);
    double variance = 0;
    for (int64_t i = 0; i < s.size; ++i) {
      variance += std::pow(src[first + i] - mean, 2) / static_cast<double>(s.size);
    }
    const double inv_std = 1 / std::sqrt(variance + epsilon);
    outputs[1][set] = mean;
    outputs[2][set] = inv_std;
    for (int64_t i = 0; i < s.size; ++i) {
      const int64_t g = gamma(set, i);
      outputs[0][first + i] = inputs[1][g] * (src[first + i] - mean) * inv_std + inputs[2][g];
    }
  }
}

// With x the normalised elements and g = gamma * diff_dst:
//   diff_src = inv_std * (g - mean of g - x * mean of g x).
template <typename Gamma>
void normalise_backward(const Sets& s, std::span<const RefTensor> inputs,
                        std::span<RefTensor> outputs, Gamma&& gamma) {
  const RefTensor& src = inputs[0];
  const RefTensor& diff = inputs[4];
  for (size_t i = 1; i < 3; ++i) outputs[i].values.assign(outputs[i].values.size(), 0.0);
  for (int64_t set = 0; set < s.sets; ++set) {
    const int64_t first = set * s.size;
    const auto x = [&](int64_t i) { return (src[first + i] - inputs[2][set]) * inputs[3][set]; };
    const auto g = [&](int64_t i) { return inputs[1][gamma(set, i)] * diff[first + i]; };
    double mean = 0;
    double mean_x = 0;
    for (int64_t i = 0; i < s.size; ++i) {
      mean += g(i) / static_cast<double>(s.size);
      mean_x += g(i) * x(i) / static_cast<double>(s.size);
      outputs[1][gamma(set, i)] += diff[first + i] * x(i);
      outputs[2][gamma(set, i)] += diff[first + i];
    }
    for (int64_t i = 0; i < s.size; ++i) {
      outputs[0][first + i] = inputs[3][set] * (g(i) - mean - x(i) * mean_x);
    }
  }
}

Sets rows_of(const Shape& shape, int axis) {
  const int64_t size = shape.elements_from(axis);
  return {shape.elements() / size, size};
}

Sets groups_of(const Shape& shape, int64_t groups) {
  const int64_t sets = shape[0] * groups;
  return {sets, shape.elements() / sets};
}

/// The channel of an element of a group.
auto channel_in(const Shape& shape, int64_t groups) {
  const int64_t pixels = shape.elements_from(2);
  const int64_t channels = shape[1] / groups;
  return [=](int64_t set, int64_t i) { return set % groups * channels + i / pixels; };
}

int64_t own_place(int64_t /*set*/, int64_t i) { return i; }

}  // namespace

void LayerNorm::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                          const Step& /*step*/) const {
  normalise(rows_of(inputs[0].shape, axis), inputs, outputs, epsilon, own_place);
}

void LayerNormBackward::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                                  const Step& /*step*/) const {
  normalise_backward(rows_of(inputs[0].shape, axis), inputs, outputs, own_place);
}

void GroupNorm::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                          const Step& /*step*/) const {
  const Shape& shape = inputs[0].shape;
  normalise(groups_of(shape, groups), inputs, outputs, epsilon, channel_in(shape, groups));
}

void GroupNormBackward::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                                  const Step& /*step*/) const {
  const Shape& shape = inputs[0].shape;
  normalise_backward(groups_of(shape, groups), inputs, outputs, channel_in(shape, groups));
}

}  // namespace syrtos::ops

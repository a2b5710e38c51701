#include "syrtos/ops/lrn.h"

#include "syrtos/base/error.h"

namespace syrtos::ops {

namespace {

template <typename Norm>
std::string norm_attributes(const Norm& norm) {
  return fmt::format("size {} alpha {} beta {} k {}", norm.size, norm.alpha, norm.beta, norm.k);
}

void require_image(const Op& op, const TensorType& src, int64_t size) {
  require_float(op, src, "src");
  if (src.shape.rank() < 3) {
    fail_shape(op,
               fmt::format("expected src [batch, channels, spatial...], found {}", to_string(src)));
  }
  if (size < 1 || size % 2 == 0) {
    fail_shape(op, fmt::format("expected an odd number of channels as size, found {} for src {}",
                               size, to_string(src)));
  }
}

}  // namespace

std::string LocalResponseNorm::attributes() const { return norm_attributes(*this); }

std::vector<TensorType> LocalResponseNorm::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 1);
  require_image(*this, inputs[0], size);
  return {inputs[0]};
}

std::vector<ValueId> LocalResponseNorm::gradient(GraphBuilder& graph,
                                                 std::span<const ValueId> inputs,
                                                 std::span<const ValueId> /*outputs*/,
                                                 std::span<const ValueId> output_gradients) const {
  auto backward = std::make_shared<LocalResponseNormBackward>();
  backward->size = size;
  backward->alpha = alpha;
  backward->beta = beta;
  backward->k = k;
  return {graph.add_one(backward, {inputs[0], output_gradients[0]})};
}

std::string LocalResponseNormBackward::attributes() const { return norm_attributes(*this); }

std::vector<TensorType> LocalResponseNormBackward::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 2);
  require_image(*this, inputs[0], size);
  require_type(*this, inputs[1], inputs[0], "diff_dst");
  return {inputs[0]};
}

}  // namespace syrtos::ops

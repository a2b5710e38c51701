#include "syrtos/ops/op.h"

#include "syrtos/base/error.h"

namespace syrtos::ops {

std::vector<ValueId> Op::gradient(GraphBuilder& /*graph*/, std::span<const ValueId> /*inputs*/,
                                  std::span<const ValueId> /*outputs*/,
                                  std::span<const ValueId> /*output_gradients*/) const {
  fail_request("[{}] has no gradient: it may not stand between a parameter and the loss", name());
}

double Op::flops(std::span<const TensorType> /*inputs*/,
                 std::span<const TensorType> /*outputs*/) const {
  return 0;
}

void fail_shape(const Op& op, const std::string& text) { fail_request("[{}] {}", op.name(), text); }

void require_inputs(const Op& op, std::span<const TensorType> inputs, size_t expected) {
  if (inputs.size() != expected) {
    fail_shape(op, fmt::format("expected {} inputs, found {}", expected, inputs.size()));
  }
}

void require_rank(const Op& op, const TensorType& type, int rank, std::string_view what) {
  if (type.shape.rank() != rank) {
    fail_shape(op, fmt::format("expected {} of rank {}, found {}", what, rank, to_string(type)));
  }
}

void require_same(const Op& op, const TensorType& a, const TensorType& b) {
  if (!(a == b)) {
    fail_shape(op,
               fmt::format("expected equal types, found {} and {}", to_string(a), to_string(b)));
  }
}

void require_float(const Op& op, const TensorType& type, std::string_view what) {
  if (type.dtype != DType::f32 && type.dtype != DType::bf16) {
    fail_shape(op, fmt::format("expected {} in f32 or bf16, found {}", what, to_string(type)));
  }
}

void require_type(const Op& op, const TensorType& found, const TensorType& expected,
                  std::string_view what) {
  if (!(found == expected)) {
    fail_shape(
        op, fmt::format("expected {} {}, found {}", what, to_string(expected), to_string(found)));
  }
}

}  // namespace syrtos::ops

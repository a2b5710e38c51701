// Functions of one number far from zero, where kernels take other ways than near it.

#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/pointwise.h"
#include "tests/support/kernel_case.h"

namespace syrtos {
namespace {

using graph::ValueId;
using ops::PointwiseKind;
using test::Case;
using test::Context;

Case far_case(std::string name, PointwiseKind kind, float width) {
  return {std::move(name), [=](Context& c) {
            const ValueId wide = c.add(ops::Scale(width), {c.parameter("src", {5, 7, 9})});
            return c.add(ops::Pointwise(kind, 1.0F, 2.0F), {wide});
          }};
}

class FunctionsFarFromZero : public testing::TestWithParam<std::tuple<Case, DType, bool>> {};

TEST_P(FunctionsFarFromZero, MatchTheReference) {
  const auto& [test, dtype, fused] = GetParam();
  test::expect_case_matches(test, dtype, fused);
}

INSTANTIATE_TEST_SUITE_P(
    All, FunctionsFarFromZero,
    testing::Combine(testing::Values(far_case("erf", PointwiseKind::erf, 12),
                                     far_case("erf_middle", PointwiseKind::erf, 3),
                                     far_case("exact_gelu", PointwiseKind::exact_gelu, 30),
                                     far_case("exact_gelu_middle", PointwiseKind::exact_gelu, 5),
                                     far_case("silu", PointwiseKind::silu, 100),
                                     far_case("softplus", PointwiseKind::softplus, 100),
                                     far_case("elu", PointwiseKind::elu, 100),
                                     far_case("hard_swish", PointwiseKind::hard_swish, 10)),
                     testing::Values(DType::f32, DType::bf16), testing::Values(true)),
    test::case_name);

}  // namespace
}  // namespace syrtos

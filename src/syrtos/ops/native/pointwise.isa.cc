#include "syrtos/ops/native/pointwise_kernels.h"
#include "syrtos/ops/native/vector_math.h"

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

constexpr float kHalfRoot = 0.70710678118f;       // 1 / sqrt(2)
constexpr float kNormalDensity = 0.39894228040f;  // 1 / sqrt(2 pi)
constexpr float kTwoOverRootPi = 1.12837916710f;  // 2 / sqrt(pi)

[[gnu::always_inline]] inline Vec clamp(Vec x, float low, float high) {
  const Vec above = x < low ? broadcast(low) : x;
  return above > high ? broadcast(high) : above;
}

[[gnu::always_inline]] inline Vec bounded_exp(Vec x) {
  return vec_exp(x > 88.0f ? broadcast(88.0f) : x);
}

/// exp(-x^2 / 2); beyond 12.8 it is as good as nothing.
[[gnu::always_inline]] inline Vec bell(Vec x) {
  const Vec power = x * x * -0.72134752f;  // of 2
  return exp2_within(power < -119.0f ? broadcast(-119.0f) : power);
}

/// Lane by lane: nobody raises to general powers where time matters.
inline Vec vec_power(Vec a, Vec b) {
  Vec result;
  for (int i = 0; i < kLanes; ++i) result[i] = __builtin_powf(a[i], b[i]);
  return result;
}

[[gnu::always_inline]] inline Vec share(Vec mine, Vec other) {  // of the smaller one
  return mine < other ? broadcast(1.0f) : (mine > other ? Vec{} : broadcast(0.5f));
}

// Of one number: value(x, alpha, beta) and slope(x, alpha, beta).
#define SYRTOS_POINTWISE(Name, the_value, the_slope)                                     \
  struct Name {                                                                          \
    static Vec value(Vec x, [[maybe_unused]] float alpha, [[maybe_unused]] float beta) { \
      return the_value;                                                                  \
    }                                                                                    \
    static Vec slope(Vec x, [[maybe_unused]] float alpha, [[maybe_unused]] float beta) { \
      return the_slope;                                                                  \
    }                                                                                    \
  };

SYRTOS_POINTWISE(Negative, -x, broadcast(-1.0f) + 0.0f * x)
SYRTOS_POINTWISE(Absolute,
                 x<0.0f ? -x : x, x> 0.0f ? broadcast(1.0f) : (x < 0.0f ? broadcast(-1.0f) : Vec{}))
SYRTOS_POINTWISE(SquareRoot, vec_sqrt(x), 0.5f / vec_sqrt(x))
SYRTOS_POINTWISE(Exponential, bounded_exp(x), bounded_exp(x))
SYRTOS_POINTWISE(Logarithm, vec_log(x), 1.0f / x)
SYRTOS_POINTWISE(Erf, vec_erf(x), kTwoOverRootPi* bounded_exp(-x* x))
SYRTOS_POINTWISE(Reciprocal, 1.0f / x, -1.0f / (x * x))
SYRTOS_POINTWISE(LeakyRelu, x < 0.0f ? alpha * x : x, x < 0.0f ? broadcast(alpha) : broadcast(1.0f))
SYRTOS_POINTWISE(Elu, x < 0.0f ? alpha * (vec_exp(x < 0.0f ? x : Vec{}) - 1.0f) : x,
                 x < 0.0f ? alpha * vec_exp(x < 0.0f ? x : Vec{}) : broadcast(1.0f))
SYRTOS_POINTWISE(Softplus, relu(x) + vec_log(1.0f + vec_exp(x < 0.0f ? x : -x)), vec_sigmoid(x))
SYRTOS_POINTWISE(HardSigmoid, clamp(alpha* x + beta, 0.0f, 1.0f),
                 alpha* x + beta <= 0.0f ? Vec{}
                                         : (alpha * x + beta >= 1.0f ? Vec{} : broadcast(alpha)))
SYRTOS_POINTWISE(HardSwish, x* clamp(x*(1.0f / 6) + 0.5f, 0.0f, 1.0f),
                 x <= -3.0f ? Vec{} : (x >= 3.0f ? broadcast(1.0f) : x * (1.0f / 3) + 0.5f))
SYRTOS_POINTWISE(Clip, clamp(x, alpha, beta),
                 x < alpha ? Vec{} : (x > beta ? Vec{} : broadcast(1.0f)))
SYRTOS_POINTWISE(ExactGelu, x*(0.5f + 0.5f * vec_erf(x * kHalfRoot)),
                 0.5f + 0.5f * vec_erf(x * kHalfRoot) + x * kNormalDensity * bell(x))
SYRTOS_POINTWISE(Silu, x* vec_sigmoid(x), vec_sigmoid(x) * (1.0f + x * (1.0f - vec_sigmoid(x))))
SYRTOS_POINTWISE(Affine, alpha* x + beta, broadcast(alpha) + 0.0f * x)
#undef SYRTOS_POINTWISE

template <typename Function>
struct Forward {
  static constexpr int kOperands = 1;
  static Vec apply(const Vec* x, float alpha, float beta) {
    return Function::value(x[0], alpha, beta);
  }
};

template <typename Function>
struct Backward {
  static constexpr int kOperands = 2;
  static Vec apply(const Vec* x, float alpha, float beta) {
    return Function::slope(x[0], alpha, beta) * x[1];
  }
};

// Of two numbers, and the gradients of those that need both.
#define SYRTOS_OF(count, Name, result)                                                 \
  struct Name {                                                                        \
    static constexpr int kOperands = count;                                            \
    static Vec apply(const Vec* x, float /*alpha*/, float /*beta*/) { return result; } \
  };

SYRTOS_OF(2, Sum, x[0] + x[1])
SYRTOS_OF(2, Difference, x[0] - x[1])
SYRTOS_OF(2, Product, x[0] * x[1])
SYRTOS_OF(2, Quotient, x[0] / x[1])
SYRTOS_OF(2, Power, vec_power(x[0], x[1]))
SYRTOS_OF(2, Minimum, vec_min(x[0], x[1]))
SYRTOS_OF(2, Maximum, vec_max(x[0], x[1]))
SYRTOS_OF(2, Prelu, x[0] < 0.0f ? x[0] * x[1] : x[0])
SYRTOS_OF(2, Equal, x[0] == x[1] ? broadcast(1.0f) : Vec{})
SYRTOS_OF(3, QuotientBackwardA, x[2] / x[1])
SYRTOS_OF(3, QuotientBackwardB, -x[2] * x[0] / (x[1] * x[1]))
SYRTOS_OF(3, PowerBackwardA, x[2] * x[1] * vec_power(x[0], x[1] - 1.0f))
SYRTOS_OF(3, PowerBackwardB, x[2] * vec_power(x[0], x[1]) * vec_log(x[0]))
SYRTOS_OF(3, MinimumBackwardA, x[2] * share(x[0], x[1]))
SYRTOS_OF(3, MinimumBackwardB, x[2] * share(x[1], x[0]))
SYRTOS_OF(3, MaximumBackwardA, x[2] * share(x[1], x[0]))
SYRTOS_OF(3, MaximumBackwardB, x[2] * share(x[0], x[1]))
SYRTOS_OF(3, PreluBackwardA, x[0] < 0.0f ? x[2] * x[1] : x[2])
SYRTOS_OF(3, PreluBackwardB, x[0] < 0.0f ? x[2] * x[0] : Vec{})
#undef SYRTOS_OF

template <typename T>
float first_of(const T* p) {
  return load(p, 1)[0];
}

template <typename Function, typename T>
void run(int64_t n, const void* const* inputs, const int64_t* steps, float alpha, float beta,
         void* dst) {
  constexpr int kOperands = Function::kOperands;
  Vec repeated[kOperands];
  for (int k = 0; k < kOperands; ++k) {
    repeated[k] =
        steps[k] != 0 || n == 0 ? Vec{} : broadcast(first_of(static_cast<const T*>(inputs[k])));
  }
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Vec x[kOperands];
    for (int k = 0; k < kOperands; ++k) {
      x[k] = steps[k] != 0 ? load(static_cast<const T*>(inputs[k]) + i) : repeated[k];
    }
    store(static_cast<T*>(dst) + i, Function::apply(x, alpha, beta));
  }
  if (i < n) {
    const int rest = static_cast<int>(n - i);
    Vec x[kOperands];
    for (int k = 0; k < kOperands; ++k) {
      x[k] = steps[k] != 0 ? load(static_cast<const T*>(inputs[k]) + i, rest) : repeated[k];
    }
    store(static_cast<T*>(dst) + i, Function::apply(x, alpha, beta), rest);
  }
}

}  // namespace

#define SYRTOS_BOTH(...) \
  { run<__VA_ARGS__, float>, run<__VA_ARGS__, Bf16> }

const PointwiseKernels pointwise_kernels = {{
    SYRTOS_BOTH(Forward<Negative>),
    SYRTOS_BOTH(Forward<Absolute>),
    SYRTOS_BOTH(Forward<SquareRoot>),
    SYRTOS_BOTH(Forward<Exponential>),
    SYRTOS_BOTH(Forward<Logarithm>),
    SYRTOS_BOTH(Forward<Erf>),
    SYRTOS_BOTH(Forward<Reciprocal>),
    SYRTOS_BOTH(Forward<LeakyRelu>),
    SYRTOS_BOTH(Forward<Elu>),
    SYRTOS_BOTH(Forward<Softplus>),
    SYRTOS_BOTH(Forward<HardSigmoid>),
    SYRTOS_BOTH(Forward<HardSwish>),
    SYRTOS_BOTH(Forward<Clip>),
    SYRTOS_BOTH(Forward<ExactGelu>),
    SYRTOS_BOTH(Forward<Silu>),
    SYRTOS_BOTH(Backward<Negative>),
    SYRTOS_BOTH(Backward<Absolute>),
    SYRTOS_BOTH(Backward<SquareRoot>),
    SYRTOS_BOTH(Backward<Exponential>),
    SYRTOS_BOTH(Backward<Logarithm>),
    SYRTOS_BOTH(Backward<Erf>),
    SYRTOS_BOTH(Backward<Reciprocal>),
    SYRTOS_BOTH(Backward<LeakyRelu>),
    SYRTOS_BOTH(Backward<Elu>),
    SYRTOS_BOTH(Backward<Softplus>),
    SYRTOS_BOTH(Backward<HardSigmoid>),
    SYRTOS_BOTH(Backward<HardSwish>),
    SYRTOS_BOTH(Backward<Clip>),
    SYRTOS_BOTH(Backward<ExactGelu>),
    SYRTOS_BOTH(Backward<Silu>),
    SYRTOS_BOTH(Sum),
    SYRTOS_BOTH(Difference),
    SYRTOS_BOTH(Product),
    SYRTOS_BOTH(Quotient),
    SYRTOS_BOTH(Power),
    SYRTOS_BOTH(Minimum),
    SYRTOS_BOTH(Maximum),
    SYRTOS_BOTH(Prelu),
    SYRTOS_BOTH(Equal),
    SYRTOS_BOTH(QuotientBackwardA),
    SYRTOS_BOTH(QuotientBackwardB),
    SYRTOS_BOTH(PowerBackwardA),
    SYRTOS_BOTH(PowerBackwardB),
    SYRTOS_BOTH(MinimumBackwardA),
    SYRTOS_BOTH(MinimumBackwardB),
    SYRTOS_BOTH(MaximumBackwardA),
    SYRTOS_BOTH(MaximumBackwardB),
    SYRTOS_BOTH(PreluBackwardA),
    SYRTOS_BOTH(PreluBackwardB),
    SYRTOS_BOTH(Forward<Affine>),
}};

#undef SYRTOS_BOTH

}  // namespace syrtos::ops::native::SYRTOS_ISA

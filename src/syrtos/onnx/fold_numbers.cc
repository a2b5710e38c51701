// Arithmetic, comparisons and constants.
#include <algorithm>
#include <cmath>
#include <functional>

#include "syrtos/onnx/fold.h"

namespace syrtos::onnx {
namespace {

Array mapped(const Array& a, const std::function<double(double)>& real,
             const std::function<int64_t(int64_t)>& whole) {
  Array result{.shape = a.shape};
  if (a.is_float()) {
    auto& to = result.values.emplace<1>();
    for (const double value : a.floats()) to.push_back(real(value));
  } else {
    auto& to = result.values.emplace<0>();
    for (const int64_t value : a.integers()) to.push_back(whole(value));
  }
  return result;
}

template <typename Real, typename Whole>
Array combined(const Call& call, const Array& first, const Array& second, const Real& real,
               const Whole& whole) {
  const std::vector<int64_t> shape = broadcast_shape(call, first.shape, second.shape);
  const Array a = expanded(first, shape);
  const Array b = expanded(second, shape);
  Array result{.shape = shape};
  const auto count = static_cast<size_t>(a.elements());
  if (a.is_float() || b.is_float()) {
    using Result = decltype(real(0.0, 0.0));
    std::vector<std::conditional_t<std::is_same_v<Result, bool>, int64_t, double>> to;
    for (size_t i = 0; i < count; ++i) to.push_back(real(a.number(i), b.number(i)));
    result.values = std::move(to);
  } else {
    auto& to = result.values.emplace<0>();
    for (size_t i = 0; i < count; ++i) to.push_back(whole(a.integers()[i], b.integers()[i]));
  }
  return result;
}

// Wrapping, as the file's 64 bits do: numbers of hostile files must not be undefined here.
int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }
uint64_t bits(int64_t value) { return static_cast<uint64_t>(value); }

int64_t divided(const Call& call, int64_t a, int64_t b) {
  if (b == 0) call.fail("cannot divide by 0");
  return b == -1 ? wrap(0 - bits(a)) : a / b;  // the most negative number has no opposite
}

/// What is left has the sign of the divisor, as in Python.
int64_t remainder(const Call& call, int64_t a, int64_t b) {
  if (b == 0) call.fail("cannot divide by 0");
  const int64_t rest = b == -1 ? 0 : a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

template <typename Real, typename Whole>
void two(const Call& call, const Real& real, const Whole& whole) {
  if (call.inputs() != 2) call.fail("expected two numbers, found {}", call.inputs());
  call.result(
      combined(call, call.numbers(0, "a number"), call.numbers(1, "a number"), real, whole));
}

/// Of any number of inputs, one after the other.
template <typename Join>
void several(const Call& call, const Join& join) {
  Array result = call.numbers(0, "a number");
  for (size_t i = 1; i < call.inputs(); ++i) {
    result = combined(call, result, call.numbers(i, "a number"), join, join);
  }
  call.result(std::move(result));
}

template <typename Compare>
void compare(const Call& call) {
  two(
      call, [](double a, double b) -> bool { return Compare()(a, b); },
      [](int64_t a, int64_t b) -> int64_t { return Compare()(a, b); });
}

void one(
    const Call& call, double (*real)(double),
    int64_t (*whole)(int64_t) = [](int64_t a) { return a; }) {
  call.result(mapped(call.numbers(0, "a number"), real, whole));
}

const Rules& arithmetic() {
  static const Rules rules = {
      {"Add",
       [](const Call& c) {
         two(c, std::plus<>(), [](int64_t a, int64_t b) { return wrap(bits(a) + bits(b)); });
       }},
      {"Sub",
       [](const Call& c) {
         two(c, std::minus<>(), [](int64_t a, int64_t b) { return wrap(bits(a) - bits(b)); });
       }},
      {"Mul",
       [](const Call& c) {
         two(c, std::multiplies<>(), [](int64_t a, int64_t b) { return wrap(bits(a) * bits(b)); });
       }},
      {"Div",
       [](const Call& c) {
         two(c, std::divides<>(), [&](int64_t a, int64_t b) { return divided(c, a, b); });
       }},
      {"Mod",
       [](const Call& c) {
         two(
             c, [](double a, double b) { return std::fmod(a, b); },
             [&](int64_t a, int64_t b) { return remainder(c, a, b); });
       }},
      {"Pow",
       [](const Call& c) {
         const auto power = [](double a, double b) { return std::pow(a, b); };
         two(c, power, [&](int64_t a, int64_t b) {
           const double value = power(static_cast<double>(a), static_cast<double>(b));
           return std::fabs(value) < 9e18 ? static_cast<int64_t>(value) : 0;
         });
       }},
      {"Min", [](const Call& c) { several(c, [](auto a, auto b) { return std::min(a, b); }); }},
      {"Max", [](const Call& c) { several(c, [](auto a, auto b) { return std::max(a, b); }); }},
  };
  return rules;
}

void cast(const Call& call) {
  const Array& from = call.numbers(0, "a number");
  constexpr std::array<int64_t, 4> kFloats = {1, 10, 11, 16};
  constexpr int64_t kBool = 9;
  const int64_t to = call.integer("to", 1);
  const bool floats = std::find(kFloats.begin(), kFloats.end(), to) != kFloats.end();
  Array result{.shape = from.shape};
  const auto count = static_cast<size_t>(from.elements());
  if (floats) {
    auto& values = result.values.emplace<1>();
    for (size_t i = 0; i < count; ++i) values.push_back(from.number(i));
  } else {
    auto& values = result.values.emplace<0>();
    for (size_t i = 0; i < count; ++i) {
      const double value = std::clamp(from.is_float() ? from.floats()[i] : 0.0, -9e18, 9e18);
      const int64_t whole = from.is_float() ? (std::isnan(value) ? 0 : static_cast<int64_t>(value))
                                            : from.integers()[i];
      values.push_back(to == kBool ? int64_t{whole != 0 || (value != 0 && from.is_float())}
                                   : whole);
    }
  }
  call.result(std::move(result));
}

void constant(const Call& call) {
  if (const Attribute* value = call.attribute("value")) {
    if (const Array* array = std::get_if<Array>(value)) return call.result(*array);
  }
  if (call.attribute("value_int") != nullptr) {
    return call.result(Array::scalar(call.integer("value_int", 0)));
  }
  if (call.attribute("value_ints") != nullptr) {
    return call.result(Array::of(call.integers("value_ints", {})));
  }
  if (call.attribute("value_float") != nullptr) {
    return call.result(Array{{}, std::vector<double>{call.number("value_float", 0)}});
  }
  const Attribute* floats = call.attribute("value_floats");
  if (floats != nullptr) {
    if (const auto* list = std::get_if<std::vector<float>>(floats)) {
      return call.result(Array{{static_cast<int64_t>(list->size())},
                               std::vector<double>(list->begin(), list->end())});
    }
  }
  call.fail("expected numbers, found a constant of another kind");
}

void constant_of_shape(const Call& call) {
  const std::vector<int64_t> shape = call.integers(0, "a shape");
  Array value{{1}, std::vector<double>{0}};
  if (const Attribute* given = call.attribute("value")) {
    if (const Array* array = std::get_if<Array>(given); array && array->elements() == 1) {
      value = *array;
    }
  }
  call.result(
      picked(value, shape, std::vector<size_t>(static_cast<size_t>(elements_of(call, shape)), 0)));
}

void range(const Call& call) {
  const Array& first = call.numbers(0, "a start");
  const Array& limit = call.numbers(1, "a limit");
  const Array& step = call.numbers(2, "a step");
  if (first.elements() != 1 || limit.elements() != 1 || step.elements() != 1 ||
      step.number(0) == 0 || step.is_float() != first.is_float()) {
    call.fail("expected a start, a limit and a step of one type");
  }
  const double span = (limit.number(0) - first.number(0)) / step.number(0);
  const double count = std::max(0.0, std::ceil(span));
  if (!(count < 1e7)) call.fail("it is longer than constants may be");
  Array result{{static_cast<int64_t>(count)}};
  if (first.is_float()) {
    auto& to = result.values.emplace<1>();
    for (int64_t i = 0; i < result.shape[0]; ++i) {
      to.push_back(first.number(0) + static_cast<double>(i) * step.number(0));
    }
  } else {
    auto& to = result.values.emplace<0>();
    for (int64_t i = 0; i < result.shape[0]; ++i) {
      to.push_back(wrap(bits(first.integers()[0]) + bits(i) * bits(step.integers()[0])));
    }
  }
  call.result(std::move(result));
}

void where(const Call& call) {
  const Array& condition = call.numbers(0, "a condition");
  const Array& yes = call.numbers(1, "a number");
  const Array& no = call.numbers(2, "a number");
  const std::vector<int64_t> shape =
      broadcast_shape(call, condition.shape, broadcast_shape(call, yes.shape, no.shape));
  const Array c = expanded(condition, shape);
  const Array a = expanded(yes, shape);
  const Array b = expanded(no, shape);
  Array result{.shape = shape};
  const auto count = static_cast<size_t>(c.elements());
  const auto choose = [&](const auto& x, const auto& y) {
    std::decay_t<decltype(x)> to;
    for (size_t i = 0; i < count; ++i) to.push_back(c.number(i) != 0 ? x[i] : y[i]);
    return to;
  };
  if (a.is_float() != b.is_float()) call.fail("expected one type on both sides");
  if (a.is_float()) {
    result.values = choose(a.floats(), b.floats());
  } else {
    result.values = choose(a.integers(), b.integers());
  }
  call.result(std::move(result));
}

const Rules& others() {
  static const Rules rules = {
      {"Neg",
       [](const Call& c) {
         one(
             c, [](double a) { return -a; }, [](int64_t a) { return wrap(0 - bits(a)); });
       }},
      {"Abs",
       [](const Call& c) {
         one(
             c, [](double a) { return std::fabs(a); },
             [](int64_t a) { return a < 0 ? wrap(0 - bits(a)) : a; });
       }},
      {"Not",
       [](const Call& c) {
         one(
             c, [](double a) { return a == 0 ? 1.0 : 0.0; },
             [](int64_t a) { return int64_t{a == 0}; });
       }},
      {"Floor", [](const Call& c) { one(c, [](double a) { return std::floor(a); }); }},
      {"Ceil", [](const Call& c) { one(c, [](double a) { return std::ceil(a); }); }},
      {"Round", [](const Call& c) { one(c, [](double a) { return std::nearbyint(a); }); }},
      {"Sqrt", [](const Call& c) { one(c, [](double a) { return std::sqrt(a); }); }},
      {"Exp", [](const Call& c) { one(c, [](double a) { return std::exp(a); }); }},
      {"Log", [](const Call& c) { one(c, [](double a) { return std::log(a); }); }},
      {"Reciprocal", [](const Call& c) { one(c, [](double a) { return 1 / a; }); }},
      {"Identity", [](const Call& c) { c.result(c.numbers(0, "a number")); }},
      {"Equal", compare<std::equal_to<>>},
      {"Less", compare<std::less<>>},
      {"Greater", compare<std::greater<>>},
      {"LessOrEqual", compare<std::less_equal<>>},
      {"GreaterOrEqual", compare<std::greater_equal<>>},
      {"And", compare<std::logical_and<>>},
      {"Or", compare<std::logical_or<>>},
      {"Cast", cast},
      {"Constant", constant},
      {"ConstantOfShape", constant_of_shape},
      {"Range", range},
      {"Where", where},
  };
  return rules;
}

}  // namespace

const Rules& number_folds() {
  static const Rules rules = [] {
    Rules all = arithmetic();
    all.insert(others().begin(), others().end());
    return all;
  }();
  return rules;
}

}  // namespace syrtos::onnx

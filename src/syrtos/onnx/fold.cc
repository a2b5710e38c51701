#include "syrtos/onnx/fold.h"

#include <fmt/format.h>

#include <algorithm>

namespace syrtos::onnx {
namespace {

// Shapes and masks are small; what wants more is not one.
constexpr int64_t kMostElements = int64_t{1} << 24;

}  // namespace

int64_t elements_of(const Call& call, const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent < 0 || (extent > 0 && count > kMostElements / extent)) {
      call.fail("[{}] is larger than constants may be", fmt::join(shape, ", "));
    }
    count *= extent;
  }
  return count;
}

/// The same values under another shape or order: picks[i] is where element i comes from.
Array picked(const Array& from, std::vector<int64_t> shape, const std::vector<size_t>& picks) {
  Array result{.shape = std::move(shape)};
  const auto take = [&](const auto& values) {
    std::decay_t<decltype(values)> taken;
    taken.reserve(picks.size());
    for (const size_t pick : picks) taken.push_back(values[pick]);
    return taken;
  };
  if (from.is_float()) {
    result.values = take(from.floats());
  } else {
    result.values = take(from.integers());
  }
  return result;
}

std::vector<int64_t> strides_of(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// Calls `visit` with the coordinates of each element of a shape, in row-major order.
void each_index(const std::vector<int64_t>& shape,
                const std::function<void(const std::vector<int64_t>&)>& visit) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
  std::vector<int64_t> at(shape.size(), 0);
  while (true) {
    visit(at);
    size_t axis = shape.size();
    while (axis > 0 && ++at[axis - 1] == shape[axis - 1]) at[--axis] = 0;
    if (axis == 0) return;
  }
}

std::vector<int64_t> broadcast_shape(const Call& call, const std::vector<int64_t>& a,
                                     const std::vector<int64_t>& b) {
  std::vector<int64_t> result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      call.fail("[{}] and [{}] do not fit", fmt::join(a, ", "), fmt::join(b, ", "));
    }
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  elements_of(call, result);
  return result;
}

Array expanded(const Array& from, const std::vector<int64_t>& shape) {
  const std::vector<int64_t> strides = strides_of(from.shape);
  const size_t missing = shape.size() - from.shape.size();
  std::vector<size_t> picks;
  each_index(shape, [&](const std::vector<int64_t>& at) {
    int64_t index = 0;
    for (size_t i = 0; i < from.shape.size(); ++i) {
      if (from.shape[i] != 1) index += at[i + missing] * strides[i];
    }
    picks.push_back(static_cast<size_t>(index));
  });
  return picked(from, shape, picks);
}

namespace {

Rule find_fold(std::string_view operation) {
  for (const Rules* rules : {&number_folds(), &shape_folds()}) {
    const auto found = rules->find(operation);
    if (found != rules->end()) return found->second;
  }
  return nullptr;
}

}  // namespace

bool folds(std::string_view operation) { return find_fold(operation) != nullptr; }

bool fold(const Call& call) {
  const Rule rule = find_fold(call.node().operation);
  if (rule == nullptr) return false;
  rule(call);
  return true;
}

}  // namespace syrtos::onnx

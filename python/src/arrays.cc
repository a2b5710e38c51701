#include "arrays.h"

#include "syrtos/base/error.h"
#include "syrtos/data/sets/array_data.h"
#include "syrtos/data/sets/split.h"

namespace syrtos::python {

namespace nb = nanobind;

namespace {

/// Data may be let go of by a thread that does not hold the interpreter's lock.
std::shared_ptr<const void> owner_of(const AnyArray& array) {
  return {new AnyArray(array), [](const AnyArray* kept) {
            const nb::gil_scoped_acquire locked;
            delete kept;
          }};
}

DType type_of(const AnyArray& array) {
  if (array.dtype() == nb::dtype<uint8_t>()) return DType::u8;
  if (array.dtype() == nb::dtype<float>()) return DType::f32;
  fail_request("data: expected uint8 or float32");
}

}  // namespace

Data array_data(const std::string& name, const AnyArray& values, const Labels& labels,
                int64_t classes) {
  SYRTOS_CHECK(values.ndim() == 4 && values.shape(0) == labels.shape(0));
  data::ArrayView view{
      .owner = owner_of(values),
      .values = static_cast<const std::byte*>(values.data()),
      .dtype = type_of(values),
      .size = static_cast<int64_t>(values.shape(0)),
      .sample = {static_cast<int64_t>(values.shape(1)), static_cast<int64_t>(values.shape(2)),
                 static_cast<int64_t>(values.shape(3))}};
  const auto value = static_cast<int64_t>(size_of(view.dtype));
  view.step = values.stride(0) * value;
  for (size_t axis = 0; axis < 3; ++axis) view.strides[axis] = values.stride(axis + 1) * value;
  return {std::make_shared<data::ArrayData>(
      name, std::move(view), std::vector<int32_t>(labels.data(), labels.data() + labels.shape(0)),
      data::numbered_classes(classes))};
}

job::JobData job_data(const Data& train, const Data* test) {
  if (test != nullptr) return {train.set, test->set};
  data::Splits splits = data::split_every_tenth(train.set);
  return {std::move(splits.train), std::move(splits.test)};
}

std::pair<Data, Data> every_tenth(const Data& whole) {
  std::vector<int64_t> kept;
  std::vector<int64_t> tenths;
  for (int64_t i = 0; i < whole.set->size(); ++i) (i % 10 == 9 ? tenths : kept).push_back(i);
  if (tenths.empty()) {
    fail_request("{}: expected at least 10 samples, one in ten to test with, found {}",
                 whole.set->info().name, whole.set->size());
  }
  return {Data{std::make_shared<data::Subset>(whole.set, std::move(kept))},
          Data{std::make_shared<data::Subset>(whole.set, std::move(tenths))}};
}

nb::ndarray<nb::numpy, float> to_array(std::vector<float> values, std::vector<size_t> shape) {
  auto* kept = new std::vector<float>(std::move(values));
  const nb::capsule owner(
      kept, [](void* memory) noexcept { delete static_cast<std::vector<float>*>(memory); });
  return {kept->data(), shape.size(), shape.data(), owner};
}

}  // namespace syrtos::python

#include "arrays.h"

#include "syrtos/base/error.h"
#include "syrtos/data/sets/array_data.h"

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

data::Numbers numbers_of(const std::string& name, const Values& values,
                         const std::vector<int64_t>& shape) {
  return {.values = {values.data(), values.size()},
          .each = static_cast<int64_t>(values.shape(1)),
          .shape = shape,
          .name = name,
          .at = [name](int64_t sample) { return fmt::format("{}: of sample {}", name, sample); }};
}

data::TargetKind kind_of(const std::string& word) {
  return word == "classes"  ? data::TargetKind::classes
         : word == "values" ? data::TargetKind::values
                            : data::TargetKind::found_out;
}

}  // namespace

Meaning::Meaning(const std::string& name, const Values& values, const std::vector<int64_t>& shape,
                 const std::string& kind)
    : shape_(shape), targets_(numbers_of(name, values, shape), kind_of(kind)) {
  targets_.describe(info_);
}

data::Targets Meaning::read(const std::string& name, const Values& values) const {
  return targets_.read(numbers_of(name, values, shape_));
}

Data array_data(const std::string& name, const AnyArray& values,
                const std::optional<Values>& targets, const Meaning* meaning) {
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
  if (!targets) {
    std::vector<int32_t> none(values.shape(0));
    return {std::make_shared<data::ArrayData>(name, std::move(view), std::move(none),
                                              data::DatasetInfo())};
  }
  SYRTOS_CHECK(values.ndim() == 4 && values.shape(0) == targets->shape(0));
  return {std::make_shared<data::ArrayData>(name, std::move(view), meaning->read("y", *targets),
                                            meaning->info())};
}

job::JobData job_data(const Data& train, const Data* test) {
  return {train.set, test != nullptr ? test->set : nullptr};
}

nb::ndarray<nb::numpy, float> to_array(std::vector<float> values, std::vector<size_t> shape) {
  auto* kept = new std::vector<float>(std::move(values));
  const nb::capsule owner(
      kept, [](void* memory) noexcept { delete static_cast<std::vector<float>*>(memory); });
  return {kept->data(), shape.size(), shape.data(), owner};
}

}  // namespace syrtos::python

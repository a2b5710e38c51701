#include "syrtos/data/sets/array_data.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace syrtos::data {
namespace {

/// Values 0, 1, 2, ... in the order of their memory; what a sample has is reckoned from the
/// strides.
template <typename T>
void expect_samples(const ArrayView& view, const std::vector<T>& memory) {
  const ArrayData data("some", view, std::vector<int32_t>(static_cast<size_t>(view.size), 1),
                       {.classes = {"a", "b"}});
  EXPECT_EQ(data.info().shape(), view.sample);
  Scratch scratch;
  for (int64_t n = 0; n < view.size; ++n) {
    const Sample sample = data.read(n, scratch);
    EXPECT_EQ(sample.target.label, 1);
    const T* found = static_cast<const T*>(sample.values);
    for (int64_t y = 0; y < view.sample[1]; ++y) {
      for (int64_t x = 0; x < view.sample[2]; ++x) {
        for (int64_t c = 0; c < view.sample[0]; ++c, ++found) {
          const int64_t at =
              (n * view.step + c * view.strides[0] + y * view.strides[1] + x * view.strides[2]) /
              static_cast<int64_t>(sizeof(T));
          ASSERT_EQ(*found, memory[static_cast<size_t>(at)])
              << n << " " << c << " " << y << " " << x;
        }
      }
    }
  }
}

template <typename T>
ArrayView view_of(const std::vector<T>& memory, int64_t size, const Shape& sample) {
  ArrayView view;
  view.values = reinterpret_cast<const std::byte*>(memory.data());
  view.dtype = sizeof(T) == 1 ? DType::u8 : DType::f32;
  view.size = size;
  view.sample = sample;
  return view;
}

TEST(ArrayData, ReadsChannelsFirst) {
  std::vector<uint8_t> memory(2 * 3 * 4 * 5);
  std::iota(memory.begin(), memory.end(), uint8_t{0});
  ArrayView view = view_of(memory, 2, {3, 4, 5});
  view.step = 60;
  view.strides = {20, 5, 1};
  expect_samples(view, memory);
}

TEST(ArrayData, ReadsChannelsLastInPlace) {
  std::vector<float> memory(2 * 4 * 5 * 3);
  std::iota(memory.begin(), memory.end(), 0.0F);
  ArrayView view = view_of(memory, 2, {3, 4, 5});
  view.step = 240;
  view.strides = {4, 60, 12};
  expect_samples(view, memory);
  Scratch scratch;
  const ArrayData data("some", view, {0, 0}, {"a"});
  EXPECT_EQ(data.read(1, scratch).floats(), memory.data() + 60);
}

TEST(ArrayData, ReadsBackwardsAndEverySecond) {
  std::vector<float> memory(2 * 1 * 4 * 10);
  std::iota(memory.begin(), memory.end(), 0.0F);
  ArrayView view = view_of(memory, 2, {1, 4, 5});
  view.values += 3 * 40;  // the last row first
  view.step = 160;
  view.strides = {4, -40, 8};
  const ArrayData data("some", view, {0, 0}, {"a"});
  Scratch scratch;
  const Sample sample = data.read(1, scratch);
  EXPECT_EQ(sample.floats()[0], 40 + 30);
  EXPECT_EQ(sample.floats()[1], 40 + 32);
  EXPECT_EQ(sample.floats()[5], 40 + 20);
}

TEST(ArrayData, ReadsFloatsAtOddAddresses) {
  std::vector<float> memory = {1, 2, 3, 4, 5};
  std::vector<std::byte> odd(4 * sizeof(float) + 1);
  std::memcpy(odd.data() + 1, memory.data(), 4 * sizeof(float));
  ArrayView view = view_of(memory, 2, {1, 1, 2});
  view.values = odd.data() + 1;
  view.step = 8;
  view.strides = {4, 8, 4};
  const ArrayData data("some", view, {0, 0}, {"a"});
  Scratch scratch;
  EXPECT_EQ(data.read(1, scratch).floats()[1], 4);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data.read(1, scratch).values) % alignof(float), 0U);
}

TEST(ArrayData, KeepsItsOwnerUntilItIsGone) {
  std::vector<float> memory(4);
  ArrayView view = view_of(memory, 2, {1, 1, 2});
  auto owner = std::make_shared<int>(0);
  view.owner = owner;
  {
    const ArrayData data("some", std::move(view), {0, 0}, {"a"});
    EXPECT_EQ(owner.use_count(), 2);
  }
  EXPECT_EQ(owner.use_count(), 1);
}

}  // namespace
}  // namespace syrtos::data

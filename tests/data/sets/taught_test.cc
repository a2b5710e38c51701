#include "syrtos/data/sets/taught.h"

#include <gmock/gmock.h>

#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/data/pipeline/loader.h"
#include "syrtos/data/sets/near_samples.h"
#include "syrtos/data/sets/random_data.h"

namespace syrtos::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr int64_t kClasses = 3;
using Kind = RandomDataset::Kind;

std::shared_ptr<RandomDataset> random_data(int64_t size, const Shape& shape, uint64_t seed) {
  return std::make_shared<RandomDataset>(size, shape, Kind::classes, kClasses, seed);
}

std::vector<float> values_of(const Dataset& data, int64_t index) {
  Scratch scratch;
  const Sample sample = data.read(index, scratch);
  std::vector<float> values;
  for (int64_t i = 0; i < sample.elements(); ++i) {
    values.push_back(sample.dtype == DType::u8 ? sample.bytes()[i] : sample.floats()[i]);
  }
  return values;
}

TEST(WithUnlabelled, HasSamplesOfBothAndLabelsOfOne) {
  const auto labelled = random_data(5, {1, 4, 4}, 1);
  const auto more = random_data(3, {1, 4, 4}, 2);
  const WithUnlabelled all(labelled, more);
  EXPECT_EQ(all.size(), 8);
  EXPECT_EQ(all.label(4), labelled->label(4));
  EXPECT_LT(all.label(5), 0);
  EXPECT_EQ(values_of(all, 7), values_of(*more, 2));
  Scratch scratch;
  EXPECT_LT(all.read(7, scratch).target.label, 0);
}

TEST(WithUnlabelled, RefusesSamplesOfAnotherShape) {
  EXPECT_THAT(
      [] {
        WithUnlabelled(random_data(5, {1, 4, 4}, 1), random_data(3, {1, 5, 4}, 2));
      },
      ThrowsMessage<RequestError>(HasSubstr("[1, 4, 4]")));
}

/// Says that the class is the number of samples it was asked about, and remembers that it was.
class CountingTeacher final : public Teacher {
 public:
  void answer(const TeacherImages& images, std::span<float> probabilities) override {
    ASSERT_EQ(probabilities.size(), static_cast<size_t>(images.count * kClasses));
    std::fill(probabilities.begin(), probabilities.end(), static_cast<float>(images.count));
    seen.push_back(*static_cast<const float*>(images.images));
    ++asked;
  }
  int asked = 0;
  std::vector<float> seen;
};

TEST(Answers, StandBehindTheSharesOfABatch) {
  const auto labelled = random_data(4, {1, 2, 2}, 1);
  auto all = std::make_shared<WithUnlabelled>(labelled, random_data(2, {1, 2, 2}, 2));
  std::vector<float> said;
  for (int i = 0; i < 6; ++i) {
    said.insert(said.end(), {0.5F, 0.25F + 0.01F * static_cast<float>(i), 0.25F});
  }
  const Answered data(all, said);
  const Transform transform(data.info(), {1, 2, 2}, {{0}, {1}}, {}, DType::f32);
  Loader loader(data, transform,
                {.batch = 6, .training = false, .shares_of = kClasses, .taught = true});
  const Batch batch = loader.next();
  ASSERT_EQ(batch.targets.size(), 6U * 2 * kClasses);
  for (size_t n = 0; n < 6; ++n) {
    const std::span<const float> row = batch.targets.subspan(n * 2 * kClasses, 2 * kClasses);
    float known = 0;
    for (size_t k = 0; k < kClasses; ++k) known += row[k];
    EXPECT_EQ(known, n < 4 ? 1 : 0) << n;
    if (n < 4) {
      EXPECT_EQ(row[static_cast<size_t>(labelled->label(static_cast<int64_t>(n)))], 1);
    }
    EXPECT_FLOAT_EQ(row[kClasses + 1], 0.25F + 0.01F * static_cast<float>(n));
  }
}

TEST(Answers, AreAskedForInEachBatchOfWhatSamplesBecame) {
  const auto data = random_data(8, {1, 6, 6}, 1);
  const Transform transform(data->info(), {1, 6, 6}, {{0}, {1}}, parse_augment("crop:2"),
                            DType::f32);
  const auto teacher = std::make_shared<CountingTeacher>();
  Loader loader(*data, transform,
                {.batch = 5, .shares_of = kClasses, .taught = true, .teacher = teacher});
  const Batch first = loader.next();
  EXPECT_EQ(teacher->seen.back(), *static_cast<const float*>(first.images));
  EXPECT_EQ(first.targets[kClasses], 5);
  EXPECT_EQ(loader.next().targets[kClasses], 3);
  EXPECT_EQ(teacher->asked, 2);
}

TEST(NearSamples, AreMadeOfASampleAndOneMuchLikeIt) {
  const auto data = random_data(20, {2, 16, 16}, 1);
  const NearSamples made(data, 50, 7);
  ASSERT_EQ(made.size(), 50);
  for (const int64_t n : {0, 13, 49}) {
    const std::vector<float> base = values_of(*data, made.base(n));
    const std::vector<float> other = values_of(*data, made.other(n));
    const std::vector<float> values = values_of(made, n);
    EXPECT_NE(made.base(n), made.other(n));
    int of_base = 0;
    int of_other = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_TRUE(values[i] == base[i] || values[i] == other[i]) << i;
      of_base += values[i] == base[i];
      of_other += values[i] == other[i];
    }
    EXPECT_GT(of_base, of_other);
    EXPECT_GT(of_other, 0);
  }
  EXPECT_NE(values_of(made, 3), values_of(made, 23)) << "of the same sample, but not the same";
}

TEST(NearSamples, DependOnSeedAndNumberAlone) {
  const auto data = random_data(10, {1, 1, 12}, 1);
  const NearSamples one(data, 30, 7);
  const ThreadScope threads(1);
  const NearSamples two(data, 30, 7);
  const NearSamples three(data, 30, 8);
  EXPECT_EQ(values_of(one, 17), values_of(two, 17));
  EXPECT_NE(values_of(one, 17), values_of(three, 17));
}

TEST(NearSamples, OfSignalsLieAroundTheOtherOne) {
  const auto data = random_data(40, {1, 1, 200}, 3);
  ASSERT_EQ(data->info().dtype, DType::f32);
  const NearSamples made(data, 40, 7);
  double moved = 0;
  double off = 0;
  for (int64_t n = 0; n < made.size(); ++n) {
    const std::vector<float> base = values_of(*data, made.base(n));
    const std::vector<float> other = values_of(*data, made.other(n));
    const std::vector<float> values = values_of(made, n);
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] == base[i]) continue;
      moved += 1;
      off += std::abs(values[i] - other[i]) / std::abs(base[i] - other[i]);
    }
  }
  EXPECT_NEAR(moved / (40 * 200), 0.3, 0.03);
  // The mean of the absolute value of a normal distribution with a deviation of a half.
  EXPECT_NEAR(off / moved, 0.5 * std::sqrt(2 / M_PI), 0.02);
}

TEST(NearSamples, NeedTwoSamples) {
  EXPECT_THAT(
      [] {
        NearSamples(random_data(1, {1, 4, 4}, 1), 5, 1);
      },
      ThrowsMessage<RequestError>(HasSubstr("two or more")));
}

}  // namespace
}  // namespace syrtos::data

#include "syrtos/weights/match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "syrtos/base/error.h"

namespace syrtos::weights {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<Entry> kNetwork = {
    {"conv1.weight", {64, 3, 7, 7}}, {"fc.weight", {10, 512}}, {"fc.bias", {10}}};
const std::set<std::string> kHead = {"fc.weight", "fc.bias"};

std::string refusal(const std::vector<Entry>& file) {
  try {
    match(kNetwork, kHead, file, "w.safetensors");
  } catch (const RequestError& error) {
    return error.what();
  }
  return "was accepted";
}

TEST(Match, TakesWhatHasTheSameNameAndShape) {
  const Match found = match(kNetwork, kHead, kNetwork, "w");
  EXPECT_EQ(found.taken.size(), 3U);
  EXPECT_TRUE(found.new_head.empty());
  EXPECT_TRUE(found.superfluous.empty());
}

TEST(Match, LooksBelowThePrefixesOfWrappers) {
  const Match found = match(kNetwork, kHead,
                            {{"module.conv1.weight", {64, 3, 7, 7}},
                             {"module.fc.weight", {10, 512}},
                             {"module.fc.bias", {10}},
                             {"module.extra", {1}}},
                            "w");
  EXPECT_EQ(found.taken.at("fc.bias").name, "module.fc.bias");
  EXPECT_THAT(found.superfluous, ElementsAre("module.extra"));
}

TEST(Match, LetsTheHeadAloneBeAnotherOneOrMissing) {
  const Match other = match(
      kNetwork, kHead,
      {{"conv1.weight", {64, 3, 7, 7}}, {"fc.weight", {1000, 512}}, {"fc.bias", {1000}}}, "w");
  EXPECT_EQ(other.taken.size(), 1U);
  EXPECT_THAT(other.new_head, ElementsAre("fc.weight [10, 512] (there [1000, 512])",
                                          "fc.bias [10] (there [1000])"));
  EXPECT_TRUE(other.superfluous.empty());
  const Match none = match(kNetwork, kHead, {{"conv1.weight", {64, 3, 7, 7}}}, "w");
  EXPECT_THAT(none.new_head, ElementsAre("fc.weight [10, 512]", "fc.bias [10]"));
}

TEST(Match, RefusesAFileOfAnotherNetwork) {
  EXPECT_THAT(refusal({{"conv1.weight", {64, 1, 7, 7}}, {"fc.weight", {10, 512}}}),
              AllOf(HasSubstr("1 weights have another shape there"),
                    HasSubstr("conv1.weight [64, 3, 7, 7] (there [64, 1, 7, 7])")));
  EXPECT_THAT(refusal({{"fc.weight", {10, 512}}, {"fc.bias", {10}}}),
              HasSubstr("1 of the network's weights are missing: conv1.weight [64, 3, 7, 7]"));
  EXPECT_THAT(refusal({{"encoder.block", {1}}}),
              AllOf(HasSubstr("none of its weights has a name of the network"),
                    HasSubstr("found encoder.block")));
  EXPECT_THAT(refusal({}), HasSubstr("found none"));
}

TEST(Match, KnowsTimmsNamesOfVgg) {
  const std::vector<Entry> vgg = {{"features.0.weight", {64, 3, 3, 3}},
                                  {"classifier.0.weight", {4096, 25088}},
                                  {"classifier.3.weight", {4096, 4096}},
                                  {"classifier.6.weight", {1000, 4096}}};
  const Match found = match(vgg, {"classifier.6.weight"},
                            {{"features.0.weight", {64, 3, 3, 3}},
                             {"pre_logits.fc1.weight", {4096, 512, 7, 7}},
                             {"pre_logits.fc2.weight", {4096, 4096, 1, 1}},
                             {"head.fc.weight", {1000, 4096}}},
                            "w");
  EXPECT_EQ(found.taken.size(), 4U);
}

TEST(Pattern, TakesStarsAndQuestionMarks) {
  EXPECT_TRUE(fits_pattern("layer1.*", "layer1.0.conv1.weight"));
  EXPECT_FALSE(fits_pattern("layer1.*", "layer10.conv1.weight"));
  EXPECT_TRUE(fits_pattern("*.bias", "fc.bias"));
  EXPECT_TRUE(fits_pattern("layer?.0.*", "layer4.0.bn1.bias"));
  EXPECT_TRUE(fits_pattern("*", ""));
  EXPECT_FALSE(fits_pattern("conv1", "conv1.weight"));
  EXPECT_TRUE(fits_pattern("*a*b*c", "xxaybzzbc"));
}

}  // namespace
}  // namespace syrtos::weights

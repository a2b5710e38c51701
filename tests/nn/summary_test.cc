#include "syrtos/nn/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace syrtos::nn {
namespace {

using testing::HasSubstr;

TEST(Summary, LayersAddUpToTheNetwork) {
  for (const ModelInfo& info : model_list()) {
    ModelOptions options = default_options(info);
    options.batch = 3;
    const ModelSummary summary = summarize(build_model(info.name, options));
    int64_t parameters = 0;
    int64_t multiply_adds = 0;
    for (const LayerSummary& layer : summary.layers) {
      parameters += layer.parameters;
      multiply_adds += layer.multiply_adds;
    }
    EXPECT_EQ(parameters, summary.parameters) << info.name;
    EXPECT_EQ(multiply_adds, summary.multiply_adds) << info.name;
  }
}

TEST(Summary, OfLeNet5IsItsTable) {
  const std::string text =
      model_table("lenet5", {.classes = 10, .channels = 1, .height = 28, .width = 28});
  EXPECT_THAT(text, HasSubstr("61,706 parameters"));
  const ModelSummary summary =
      summarize(build_model("lenet5", {.channels = 1, .height = 28, .width = 28}));
  ASSERT_GE(summary.layers.size(), 3U);
  EXPECT_EQ(summary.layers[0].name, "conv1");
  EXPECT_EQ(summary.layers[0].operation, "conv");
  EXPECT_EQ(summary.layers[0].output, (Shape{6, 28, 28}));
  EXPECT_EQ(summary.layers[0].parameters, 156);
  EXPECT_EQ(summary.layers[0].multiply_adds, 6 * 28 * 28 * 25);
  EXPECT_EQ(summary.layers[2].output, (Shape{6, 14, 14}));
}

TEST(Summary, ListsEveryNetworkOnOneLine) {
  const std::string text = models_table();
  for (const ModelInfo& info : model_list()) EXPECT_THAT(text, HasSubstr("\n" + info.name + " "));
  EXPECT_THAT(text, HasSubstr("11,689,512"));
  EXPECT_THAT(text, HasSubstr("1.81 G"));
}

}  // namespace
}  // namespace syrtos::nn

#include "syrtos/nn/summary.h"
#include "syrtos/nn/zoo/zoo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace syrtos::nn {
namespace {

using testing::HasSubstr;

TEST(Summary, LayersAddUpToTheNetwork) {
  for (const Network& network : zoo::networks()) {
    ModelOptions options = network.default_options();
    options.batch = 3;
    const ModelSummary summary = summarize(network.build(options));
    int64_t parameters = 0;
    int64_t multiply_adds = 0;
    for (const LayerSummary& layer : summary.layers) {
      parameters += layer.parameters;
      multiply_adds += layer.multiply_adds;
    }
    EXPECT_EQ(parameters, summary.parameters) << network.name();
    EXPECT_EQ(multiply_adds, summary.multiply_adds) << network.name();
  }
}

TEST(Summary, OfLeNet5IsItsTable) {
  const std::string text = model_table(find_network("lenet5"),
                                       {.classes = 10, .channels = 1, .height = 28, .width = 28});
  EXPECT_THAT(text, HasSubstr("61,706 parameters"));
  const ModelSummary summary =
      summarize(find_network("lenet5").build({.channels = 1, .height = 28, .width = 28}));
  ASSERT_GE(summary.layers.size(), 3U);
  EXPECT_EQ(summary.layers[0].name, "conv1");
  EXPECT_EQ(summary.layers[0].operation, "conv");
  EXPECT_EQ(summary.layers[0].output, (Shape{6, 28, 28}));
  EXPECT_EQ(summary.layers[0].parameters, 156);
  EXPECT_EQ(summary.layers[0].multiply_adds, 6 * 28 * 28 * 25);
  EXPECT_EQ(summary.layers[2].output, (Shape{6, 14, 14}));
}

TEST(Summary, ListsEveryNetworkOnOneLine) {
  const std::string text = models_table(zoo::networks());
  for (const Network& network : zoo::networks()) {
    EXPECT_THAT(text, HasSubstr("\n" + network.name() + " "));
  }
  EXPECT_THAT(text, HasSubstr("11,689,512"));
  EXPECT_THAT(text, HasSubstr("1.81 G"));
}

}  // namespace
}  // namespace syrtos::nn

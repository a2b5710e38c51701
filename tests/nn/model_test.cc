#include "syrtos/nn/zoo/zoo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace syrtos::nn {
namespace {

using testing::HasSubstr;

std::string error_of(std::string_view name, const ModelOptions& options) {
  try {
    find_network(name).build(options);
  } catch (const RequestError& error) {
    return error.what();
  }
  return "no error";
}

ModelOptions square(int64_t side, int64_t classes = 10) {
  return {.classes = classes, .height = side, .width = side};
}

class EveryNetwork : public testing::TestWithParam<std::string> {
 protected:
  /// land-cover takes scenes alone, of several instruments.
  static bool takes_any_picture() { return GetParam() != "land-cover"; }
  static ModelOptions of_side_96() {
    ModelOptions options = square(96);
    if (!takes_any_picture()) {
      options.channels = 1;
      options.height = 12 * 96 + 96 / 4 + 4;
    }
    return options;
  }
};

TEST_P(EveryNetwork, HasItsInputsAndOutputs) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    ModelOptions options = {.batch = 3, .classes = 7, .channels = 0, .height = 0, .width = 0};
    options.dtype = dtype;
    const Model model = find_network(GetParam()).build(options);
    const NetworkInfo info = find_network(GetParam()).info();
    const graph::Graph& graph = model.graph;
    EXPECT_EQ(graph.find("images"), model.images);
    EXPECT_EQ(graph.find("labels"), model.targets);
    EXPECT_EQ(graph.find("logits"), model.logits);
    EXPECT_EQ(graph.find("loss"), model.loss);
    EXPECT_EQ(graph.type(model.images),
              (TensorType{dtype, {3, info.channels, info.height, info.width}}));
    EXPECT_EQ(graph.type(model.targets), (TensorType{DType::s32, {3}}));
    EXPECT_EQ(graph.type(model.logits), (TensorType{DType::f32, {3, 7}}));
    EXPECT_EQ(graph.type(model.loss), (TensorType{DType::f32, {1}}));
  }
}

TEST_P(EveryNetwork, HasOneInitializerForEachParameterAndState) {
  const Model model = find_network(GetParam()).build(of_side_96());
  std::set<std::string> named;
  for (const auto& [name, initializer] : model.initializers) {
    EXPECT_TRUE(named.insert(name).second) << name << " twice";
  }
  size_t count = 0;
  for (const graph::Value& value : model.graph.values()) {
    if (value.kind != graph::ValueKind::parameter && value.kind != graph::ValueKind::state) {
      continue;
    }
    ++count;
    EXPECT_TRUE(named.contains(value.name)) << value.name;
  }
  EXPECT_EQ(count, named.size());
}

TEST_P(EveryNetwork, DecaysKernelsOnlyAndKeepsTheRestInF32) {
  ModelOptions options = of_side_96();
  options.dtype = DType::bf16;
  const Model model = find_network(GetParam()).build(options);
  for (const ValueId id : model.graph.values_of(graph::ValueKind::parameter)) {
    const graph::Value& value = model.graph.value(id);
    const bool kernel = value.type.shape.rank() > 1;
    // What trains faster decays, per step, as much as a kernel.
    const bool decays = kernel || value.rate != 1;
    EXPECT_EQ(value.decay * value.rate, decays ? 1.0F : 0.0F) << value.name;
    EXPECT_EQ(value.type.dtype, kernel ? DType::bf16 : DType::f32) << value.name;
  }
}

TEST_P(EveryNetwork, TakesOneClassAndOddSizes) {
  ModelOptions options = of_side_96();
  options.batch = 2;
  options.classes = 1;
  if (takes_any_picture()) options.channels = 5, options.height = 97, options.width = 131;
  const Model model = find_network(GetParam()).build(options);
  EXPECT_EQ(model.graph.type(model.logits).shape, (Shape{2, 1}));
}

TEST_P(EveryNetwork, RefusesNumbersThatMakeNoSense) {
  ModelOptions options = square(96, 0);
  EXPECT_THAT(error_of(GetParam(), options), HasSubstr("classes"));
  EXPECT_THAT(error_of(GetParam(), options), HasSubstr("found 0"));
  EXPECT_THAT(error_of(GetParam(), square(96, -3)), HasSubstr("found -3"));
  options = square(-1);
  EXPECT_THAT(error_of(GetParam(), options), HasSubstr("found -1"));
  options = square(96);
  options.batch = 0;
  EXPECT_THAT(error_of(GetParam(), options), HasSubstr("batch"));
  options = square(96);
  options.task.label_smoothing = 1;
  EXPECT_THAT(error_of(GetParam(), options), HasSubstr("smoothing"));
  options = square(96);
  options.dtype = DType::u8;
  EXPECT_THAT(error_of(GetParam(), options), HasSubstr("u8"));
}

TEST_P(EveryNetwork, InferenceHasTheSameParametersButSideClassifiers) {
  ModelOptions options = of_side_96();
  options.training = false;
  const Model inference = find_network(GetParam()).build(options);
  options.training = true;
  const Model training = find_network(GetParam()).build(options);
  std::vector<std::string> expected;
  for (const auto& [name, initializer] : training.initializers) {
    if (!name.starts_with("aux")) expected.push_back(name);
  }
  std::vector<std::string> found;
  for (const auto& [name, initializer] : inference.initializers) found.push_back(name);
  EXPECT_EQ(found, expected);
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const Network& network : zoo::networks()) result.push_back(network.name());
  return result;
}

INSTANTIATE_TEST_SUITE_P(Zoo, EveryNetwork, testing::ValuesIn(names()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// The smallest input by hand, from each network's strides and windows.
TEST(TooSmall, SaysTheSmallestInputThatWorks) {
  const std::vector<std::pair<std::string, int64_t>> smallest = {
      {"lenet5", 12},      // 12 (framed), pool 6, 5x5 leaves 2, pool 1
      {"mnist-cnn", 6},    // 3x3 leaves 4, 3x3 leaves 2, pool 1
      {"alexnet", 63},     // 11x11/4 leaves 15, pools 7, 3, 1
      {"vgg16e", 32},      // five halvings
      {"googlenet", 79},   // 7x7/2 leaves 40, pools 20, 10, 5: the window of a side classifier
      {"squeezenet", 21},  // 7x7/2 leaves 8, pools 4, 2, 1: the last one a partial window
  };
  for (const auto& [name, side] : smallest) {
    EXPECT_NO_THROW(find_network(name).build(square(side))) << name;
    const std::string message = error_of(name, square(side - 1));
    EXPECT_THAT(message, HasSubstr(fmt::format("{} needs images of at least {}x{}, found {}x{}",
                                               name, side, side, side - 1, side - 1)));
  }
}

TEST(TooSmall, LooksAtBothSides) {
  EXPECT_THAT(error_of("alexnet", {.height = 200, .width = 20}),
              HasSubstr("alexnet needs images of at least 63x63, found 200x20"));
}

TEST(TooSmall, ResidualNetworksTakeOnePixel) {
  for (const char* name : {"resnet18", "resnet34", "resnet50", "resnet18-cifar", "resnet56v2"}) {
    ModelOptions options = square(1);
    options.batch = 2;  // one value per channel has no variance
    EXPECT_NO_THROW(find_network(name).build(options)) << name;
    options.batch = 1;
    options.training = false;
    EXPECT_NO_THROW(find_network(name).build(options)) << name;
  }
}

TEST(UnknownNetwork, NamesTheClosestAndAll) {
  const std::string message = error_of("resnet19", {});
  EXPECT_THAT(message, HasSubstr("resnet19"));
  EXPECT_THAT(message, HasSubstr("did you mean 'resnet18'"));
  for (const std::string& name : names()) EXPECT_THAT(message, HasSubstr(name));
}

TEST(Shortcuts, PaddedOnesHaveNoParameters) {
  const Model model = find_network("resnet34:shortcut=padded").build(square(224, 1000));
  // Without the three 1x1 convolutions and their batch norms.
  const int64_t projections = 64 * 128 + 128 * 256 + 256 * 512 + 2 * (128 + 256 + 512);
  EXPECT_EQ(parameter_count(model.graph), 21797672 - projections);
}

TEST(NetworkReferences, ReadBackAsTheyAreWritten) {
  for (const char* text : {"lenet5", "resnet34:shortcut=padded", "a:b=c,d=e"}) {
    EXPECT_EQ(to_string(parse_network_reference(text)), text);
  }
  for (const std::string& name : names()) {
    EXPECT_EQ(to_string(find_network(name).reference()), name);
  }
  EXPECT_EQ(to_string(find_network("resnet50:shortcut=padded").reference()),
            "resnet50:shortcut=padded");
}

TEST(NetworkReferences, OthersAreRefused) {
  for (const char* text : {"", ":a=b", "lenet5:", "lenet5:padded", "lenet5:a=", "lenet5:=b"}) {
    EXPECT_THAT(error_of(text, {}), HasSubstr("expected a name such as resnet34")) << text;
  }
  EXPECT_THAT(error_of("lenet5:shortcut=padded", {}), HasSubstr("lenet5 has no choices"));
  EXPECT_THAT(error_of("resnet34:shortcut=none", {}),
              HasSubstr("did you mean 'resnet34:shortcut=padded'"));
}

TEST(OwnNetwork, IsBuiltLikeTheOthers) {
  const Network network({.name = "own", .channels = 1, .height = 4, .width = 4, .classes = 3},
                        [](Builder& b, ValueId images, const ModelOptions& options) -> Heads {
                          return {b.classifier("out", b.flatten(images), options.classes)};
                        });
  const Model model = network.build(network.default_options());
  EXPECT_EQ(model.name, "own");
  EXPECT_EQ(parameter_count(model.graph), 16 * 3 + 3);
  EXPECT_EQ(model.graph.type(model.loss), (TensorType{DType::f32, {1}}));
}

}  // namespace
}  // namespace syrtos::nn

// Sizes of the networks against published ones, or against their tables added up by hand.
#include <gtest/gtest.h>

#include <algorithm>

#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/ops/composed.h"

namespace syrtos::nn {
namespace {

struct Size {
  std::string network;
  int64_t channels, side, classes;
  int64_t parameters;
  int64_t multiply_adds;  ///< 0: nobody has published it
};

class PublishedSize : public testing::TestWithParam<Size> {};

TEST_P(PublishedSize, IsReached) {
  const Size& size = GetParam();
  const ModelOptions options = {.batch = 2,
                                .classes = size.classes,
                                .channels = size.channels,
                                .height = size.side,
                                .width = size.side};
  const Model model = find_network(size.network).build(options);
  EXPECT_EQ(parameter_count(model.graph), size.parameters);
  if (size.multiply_adds != 0) {
    EXPECT_EQ(multiply_adds(model.graph), size.multiply_adds);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, PublishedSize,
    testing::Values(Size{"lenet5", 1, 28, 10, 61706, 0},       //
                    Size{"lenet5", 1, 32, 10, 61706, 0},       //
                    Size{"lenet5", 3, 32, 10, 62006, 0},       //
                    Size{"mnist-cnn", 1, 28, 10, 1199882, 0},  //
                    Size{"alexnet", 3, 224, 1000, 61100840, 714188480},
                    Size{"alexnet-2col", 3, 224, 1000, 60965224, 724406816},
                    Size{"vgg16e", 3, 224, 1000, 143667240, 19632062464},
                    Size{"googlenet", 3, 224, 1000, 13378280, 0},
                    Size{"squeezenet", 3, 224, 1000, 1248424, 818924576},
                    Size{"resnet18", 3, 224, 1000, 11689512, 1814073344},
                    Size{"resnet34", 3, 224, 1000, 21797672, 3663761408},
                    Size{"resnet50", 3, 224, 1000, 25557032, 4089184256},
                    Size{"resnet18-cifar", 3, 32, 10, 11173962, 0},
                    Size{"resnet56v2", 3, 32, 10, 1663338, 0},
                    // 1972792 with the whitening kernel and the scales, which stay fixed
                    Size{"cifar10-fast", 3, 32, 10, 1972792 - 288 - 1152, 118147360}),
    [](const auto& info) {
      std::string name = info.param.network + "_" + std::to_string(info.param.channels) + "_" +
                         std::to_string(info.param.side);
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

int64_t dense(int64_t in, int64_t out) { return in * out + out; }
int64_t conv(int64_t in, int64_t out, int64_t kernel) { return in * out * kernel * kernel + out; }

int64_t parameters_at(const std::string& network, const ModelOptions& options) {
  return parameter_count(find_network(network).build(options).graph);
}

TEST(TableSize, Mlp) {
  EXPECT_EQ(parameters_at("mlp", {.classes = 7, .channels = 2, .height = 5, .width = 6}),
            dense(60, 512) + dense(512, 512) + dense(512, 7));
}

TEST(TableSize, Vgg16eAt128PixelsHasADenseLayerOf8192) {
  const int64_t convolutions = conv(3, 64, 3) + conv(64, 64, 3) + conv(64, 128, 3) +
                               conv(128, 128, 3) + conv(128, 256, 3) + 3 * conv(256, 256, 3) +
                               conv(256, 512, 3) + 7 * conv(512, 512, 3);
  EXPECT_EQ(parameters_at("vgg16e", {.classes = 256, .height = 128, .width = 128}),
            convolutions + dense(8192, 4096) + dense(4096, 4096) + dense(4096, 256));
}

TEST(TableSize, SignalCnn) {
  const auto block = [](int64_t in, int64_t out) { return in * out * 7 + 2 * out; };
  EXPECT_EQ(parameters_at("signal-cnn", {.classes = 5, .channels = 2, .height = 1, .width = 16}),
            block(2, 32) + block(32, 64) + block(64, 128) + dense(128, 5));
}

TEST(TableSize, RedshiftCnn) {
  EXPECT_EQ(parameters_at("redshift-cnn", {.classes = 30, .channels = 1, .height = 1, .width = 64}),
            dense(8, 16) + 2 * dense(8 * 16, 16) + dense(64 * 16, 30));
}

TEST(TableSize, LandCover) {
  const int64_t optical = conv(10, 64, 5) + conv(64, 112, 3) + conv(112, 96, 3) + conv(96, 128, 3) +
                          conv(128, 192, 3) + conv(192, 256, 3) + dense(256 * 4 * 4, 1024);
  const int64_t radar = conv(2, 64, 5) + conv(64, 64, 3) + conv(64, 96, 3) + conv(96, 128, 3) +
                        conv(128, 192, 3) + conv(192, 192, 3) + dense(192 * 4 * 4, 1024);
  const int64_t elevation = conv(1, 32, 3) + conv(32, 64, 3) + conv(64, 128, 3) +
                            conv(128, 128, 3) + conv(128, 256, 3) + dense(256 * 4 * 4, 512);
  const int64_t spectrum = dense(7, 64) + dense(7 * 64, 128) + dense(7 * 128, 128) +
                           dense(7 * 128, 192) + dense(7 * 192, 256) + dense(256 * 16, 512);
  const int64_t head = dense(3072, 1536) + dense(1536, 768) + dense(768, 8);
  const ModelOptions scene = {.classes = 8, .channels = 0, .height = 0, .width = 0};
  EXPECT_EQ(parameters_at("land-cover", scene), optical + radar + elevation + spectrum + head);
}

TEST(LandCover, RefusesSamplesThatAreNoScene) {
  const auto build = [](int64_t height) {
    find_network("land-cover").build({.batch = 2, .channels = 1, .height = height, .width = 32});
  };
  build(12 * 32 + 8 + 4);
  try {
    build(400);
    FAIL() << "expected a refusal";
  } catch (const RequestError& error) {
    EXPECT_NE(std::string(error.what()).find("expected samples of 1x788x64"), std::string::npos)
        << error.what();
  }
}

int64_t lstm(int64_t in, int64_t units) { return 4 * units * (in + units + 2); }

TEST(TableSize, LstmMnist) {
  EXPECT_EQ(parameters_at("lstm-mnist", {.channels = 1, .height = 28, .width = 28}),
            lstm(28, 128) + dense(128, 10));
  // Its steps are the rows, of all channels.
  EXPECT_EQ(parameters_at("lstm-mnist", {.classes = 3, .channels = 3, .height = 9, .width = 8}),
            lstm(24, 128) + dense(128, 3));
}

TEST(TableSize, CharLstm) {
  const int64_t size = 80 * 64 + lstm(64, 256) + lstm(256, 256) + dense(256, 80);
  ModelOptions options = {.classes = 80, .channels = 1, .height = 1, .width = 64};
  EXPECT_EQ(parameters_at("char-lstm", options), size);
  options.training = false;
  EXPECT_EQ(parameters_at("char-lstm", options), size);
}

TEST(MultiplyAdds, OfARecurrentLayer) {
  const Model model = find_network("lstm-mnist").build({.channels = 1, .height = 28, .width = 28});
  EXPECT_EQ(multiply_adds(model.graph), 28 * 512 * (28 + 128) + 128 * 10);
}

TEST(TableSize, GoogLeNet) {
  // in; 1x1; 3x3 reduce, 3x3; 5x5 reduce, 5x5; pool
  const int64_t modules[][7] = {
      {192, 64, 96, 128, 16, 32, 32},     {256, 128, 128, 192, 32, 96, 64},
      {480, 192, 96, 208, 16, 48, 64},    {512, 160, 112, 224, 24, 64, 64},
      {512, 128, 128, 256, 24, 64, 64},   {512, 112, 144, 288, 32, 64, 64},
      {528, 256, 160, 320, 32, 128, 128}, {832, 256, 160, 320, 32, 128, 128},
      {832, 384, 192, 384, 48, 128, 128},
  };
  int64_t trunk = conv(3, 64, 7) + conv(64, 64, 1) + conv(64, 192, 3) + dense(1024, 257);
  for (const auto& m : modules) {
    trunk += conv(m[0], m[1], 1) + conv(m[0], m[2], 1) + conv(m[2], m[3], 3) + conv(m[0], m[4], 1) +
             conv(m[4], m[5], 5) + conv(m[0], m[6], 1);
  }
  const auto side = [](int64_t channels) {
    return conv(channels, 128, 1) + dense(128 * 4 * 4, 1024) + dense(1024, 257);
  };
  ModelOptions options = {.classes = 257, .height = 224, .width = 224};
  EXPECT_EQ(parameters_at("googlenet", options), trunk + side(512) + side(528));
  options.training = false;
  EXPECT_EQ(parameters_at("googlenet", options), trunk);
}

TEST(MultiplyAdds, OfSeveralMatricesAndOfTransposedConvolutions) {
  graph::Graph g;
  const auto value = [&](const char* name, Shape shape) {
    return g.add_input(name, {DType::f32, shape});
  };
  ops::matmul(g, value("a", {2, 3, 4, 5}), value("b", {2, 3, 5, 6}));
  EXPECT_EQ(nn::multiply_adds(g, g.nodes().back()), 2 * 3 * 4 * 5 * 6);
  ops::ConvTransposeOptions options;
  options.window.kernel = {3, 3};
  options.window.stride = {2, 2};
  ops::conv_transpose(g, value("x", {2, 6, 4, 5}), value("weights", {6, 7, 3, 3}), options);
  // Each element of x meets each weight of its channel once.
  EXPECT_EQ(nn::multiply_adds(g, g.nodes().back()), 2 * 6 * 4 * 5 * 7 * 9);
}

}  // namespace
}  // namespace syrtos::nn

#include "syrtos/onnx/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "syrtos/base/error.h"
#include "syrtos/onnx/network.h"
#include "tests/onnx/made_model.h"
#include "tests/support/temporary.h"

namespace syrtos::onnx {
namespace {

using testing::HasSubstr;

using OnnxFile = TemporaryDirectory;

TEST_F(OnnxFile, SaysWhatItHolds) {
  const Document document = parse(small_classifier().bytes(), "small.onnx");
  EXPECT_EQ(document.opset, 17);
  ASSERT_EQ(document.inputs.size(), 1U);
  EXPECT_EQ(document.inputs[0].shape, (std::vector<int64_t>{1, 1, 8, 8}));
  EXPECT_EQ(document.nodes.size(), 9U);
  EXPECT_EQ(document.initializers.at("fc.weight").shape, (std::vector<int64_t>{3, 16}));
  EXPECT_FALSE(document.initializers.at("fc.weight").values);
  EXPECT_EQ(document.initializers.at("minus").values->integers(), std::vector<int64_t>{-1});
}

TEST_F(OnnxFile, GivesItsWeights) {
  const WeightsFile file(write("small.onnx", small_classifier().bytes()));
  const Tensor weights = file.read("conv.weight");
  EXPECT_EQ(weights.shape(), (Shape{4, 1, 3, 3}));
  EXPECT_FLOAT_EQ(weights.get(1), 0.05F * (7 - 11));
}

TEST_F(OnnxFile, GivesWeightsOfEveryFloatType) {
  MadeModel made = small_classifier();
  for (::onnx::TensorProto& tensor : *made.graph().mutable_initializer()) {
    if (tensor.name() == "fc.bias") {  // 1.5, -2, 0.25
      tensor.set_data_type(::onnx::TensorProto::FLOAT16);
      tensor.set_raw_data(std::string("\x00\x3e\x00\xc0\x00\x34", 6));
    } else if (tensor.name() == "bn.bias") {
      tensor.set_data_type(::onnx::TensorProto::DOUBLE);
      tensor.clear_raw_data();
      for (const double value : {1.0, 2.0, 3.0, -4.5}) tensor.add_double_data(value);
    } else if (tensor.name() == "bn.weight") {
      tensor.set_data_type(::onnx::TensorProto::BFLOAT16);
      tensor.set_raw_data(std::string("\x80\x3f\x00\x40\x80\xbf\x00\x00", 8));
    }
  }
  const WeightsFile file(write("small.onnx", made.bytes()));
  EXPECT_EQ(file.read("fc.bias").to_vector(), (std::vector<float>{1.5, -2, 0.25}));
  EXPECT_EQ(file.read("bn.bias").to_vector(), (std::vector<float>{1, 2, 3, -4.5}));
  EXPECT_EQ(file.read("bn.weight").to_vector(), (std::vector<float>{1, 2, -1, 0}));
}

/// Puts a weight's values into a file beside it.
void make_external(MadeModel& made, const std::string& location, const std::string& offset = "8",
                   const std::string& length = "16") {
  for (::onnx::TensorProto& tensor : *made.graph().mutable_initializer()) {
    if (tensor.name() != "bn.bias") continue;
    tensor.clear_raw_data();
    tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
    const std::vector<std::pair<std::string, std::string>> entries = {
        {"location", location}, {"offset", offset}, {"length", length}};
    for (const auto& [key, value] : entries) {
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
  }
}

TEST_F(OnnxFile, ReadsWeightsThatLieBesideIt) {
  MadeModel made = small_classifier();
  make_external(made, "values.bin");
  const std::vector<float> values = {-1, -1, 5, 6, 7, 8};
  write("values.bin", std::string(reinterpret_cast<const char*>(values.data()), 24));
  const WeightsFile file(write("small.onnx", made.bytes()));
  EXPECT_EQ(file.read("bn.bias").to_vector(), (std::vector<float>{5, 6, 7, 8}));
}

TEST_F(OnnxFile, ReadsNothingOutsideItsFolder) {
  const auto refused = [&](const std::string& location, const std::string& offset = "0",
                           const std::string& length = "16") {
    MadeModel made = small_classifier();
    make_external(made, location, offset, length);
    const WeightsFile file(write("small.onnx", made.bytes()));
    return refusal([&] { file.read("bn.bias"); });
  };
  write("values.bin", std::string(20, 'x'));
  EXPECT_THAT(refused("/etc/passwd"), HasSubstr("expected its external data beside the file"));
  EXPECT_THAT(refused("../values.bin"), HasSubstr("expected its external data beside the file"));
  EXPECT_THAT(refused("gone.bin"), HasSubstr("which cannot be read"));
  EXPECT_THAT(refused("values.bin", "8"), HasSubstr("it is truncated"));
  EXPECT_THAT(refused("values.bin", "18446744073709551615"), HasSubstr("a number of bytes"));
  EXPECT_THAT(refused("values.bin", "0", "12"), HasSubstr("expected 16 bytes"));
}

TEST_F(OnnxFile, TravelsWithoutItsWeights) {
  MadeModel made = small_classifier();
  made.weight("large", {1000, 1000});
  const std::string bytes = made.bytes();
  const std::string alone = without_weights(bytes, "small.onnx");
  EXPECT_LT(alone.size(), 4096U);
  EXPECT_EQ(parse(alone, "small.onnx").initializers.at("large").shape,
            (std::vector<int64_t>{1000, 1000}));
  const WeightsFile file(write("alone.onnx", alone));
  EXPECT_THAT(refusal([&] { file.read("fc.weight"); }), HasSubstr("were left out of this file"));
}

TEST_F(OnnxFile, IsRefusedInWords) {
  const auto refused = [](const MadeModel& made) {
    return refusal([&] { parse(made.bytes(), "x.onnx"); });
  };
  MadeModel made = small_classifier(6);
  EXPECT_THAT(refused(made), HasSubstr("expected ONNX's operator set 7 to 28, found 6"));
  made = small_classifier();
  made.node("Relu", {"nowhere"}, {"z"});
  EXPECT_THAT(refused(made),
              HasSubstr("node z_node uses 'nowhere', which nothing before it makes"));
  made = small_classifier();
  made.node("Relu", {"a"}, {"b"});
  EXPECT_THAT(refused(made), HasSubstr("'b' is there twice"));
  made = small_classifier();
  made.output("gone", {1});
  EXPECT_THAT(refused(made), HasSubstr("nothing makes its output 'gone'"));
  made = small_classifier();
  made.weight("w", {2, 3}).mutable_dims()->Set(0, -4);
  EXPECT_THAT(refused(made), HasSubstr("the extent -4 is out of range"));
  made = small_classifier();
  made.weight("w", {1, 1, 1, 1, 1, 1, 1});
  EXPECT_THAT(refused(made), HasSubstr("expected at most 6 axes, found 7"));
  made = small_classifier();
  made.integers("n", {1, 2, 3});
  made.graph().mutable_initializer(made.graph().initializer_size() - 1)->set_dims(0, 1 << 30);
  EXPECT_THAT(refused(made), HasSubstr("the file is damaged"));
  EXPECT_THAT(refusal([] { parse("", "x.onnx"); }), HasSubstr("not an ONNX file, or truncated"));
  EXPECT_THAT(refusal([&] { read_bytes(directory_ / "none.onnx"); }),
              HasSubstr("expected an ONNX file, found"));
  EXPECT_THAT(refusal([&] { read_bytes(directory_); }), HasSubstr("expected an ONNX file, found"));
}

TEST_F(OnnxFile, ReadsNothingThroughALinkThatLeavesItsFolder) {
  MadeModel made = small_classifier();
  make_external(made, "inside/link.bin", "0");
  const std::filesystem::path folder = directory_ / "model";
  std::filesystem::create_directories(folder / "inside");
  write("secret.bin", std::string(16, 'x'));
  write("model/values.bin", std::string(16, 'x'));
  const std::filesystem::path model = write("model/small.onnx", made.bytes());
  const std::filesystem::path link = folder / "inside" / "link.bin";
  std::filesystem::create_symlink(directory_ / "secret.bin", link);
  const WeightsFile file(model);
  EXPECT_THAT(refusal([&] { file.read("bn.bias"); }), HasSubstr("a link to"));
  std::filesystem::remove(link);
  std::filesystem::create_symlink("../values.bin", link);
  EXPECT_EQ(file.read("bn.bias").shape(), (Shape{4}));
}

TEST_F(OnnxFile, HasATypeForEachAttribute) {
  MadeModel made = small_classifier();
  made.graph().mutable_node(0)->mutable_attribute(0)->clear_type();
  EXPECT_THAT(refusal([&] { parse(made.bytes(), "x.onnx"); }),
              HasSubstr("attribute pads of node a_node has no type"));
}

}  // namespace
}  // namespace syrtos::onnx

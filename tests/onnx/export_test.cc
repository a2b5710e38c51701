#include "syrtos/onnx/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "syrtos/onnx/document.h"
#include "syrtos/onnx/network.h"
#include "tests/onnx/made_model.h"
#include "tests/support/temporary.h"

namespace syrtos::onnx {
namespace {

using OnnxExport = TemporaryDirectory;

TEST_F(OnnxExport, NamesNothingTwice) {
  // Weights keep their names, also those that the input and the output usually have.
  MadeModel made;
  made.input("x", {0, 3, 4, 4});
  made.weight("logits", {3, 1, 1});
  made.weight("images", {3, 4, 4});
  made.weight("w", {3, 2});
  made.node("Add", {"x", "logits"}, {"a"});
  made.node("Mul", {"a", "images"}, {"b"});
  made.node("GlobalAveragePool", {"b"}, {"c"});
  made.node("Flatten", {"c"}, {"d"});
  made.node("MatMul", {"d", "w"}, {"y"});
  made.output("y", {0, 2});
  const nn::Network network = network_of(made.bytes(), "named.onnx");
  const nn::Model model = network.build(network.default_options());
  write_network(
      directory_ / "out.onnx", network, network.default_options(),
      [&](const std::string& name) { return Tensor(model.graph.type(model.graph.find(name))); },
      {});
  const Document document = parse(read_bytes(directory_ / "out.onnx"), "out.onnx");
  EXPECT_TRUE(document.initializers.contains("logits"));
  EXPECT_TRUE(document.initializers.contains("images"));
  ASSERT_EQ(document.inputs.size(), 1U);
  EXPECT_EQ(document.inputs[0].name, "images_1");
  ASSERT_EQ(document.outputs.size(), 1U);
  EXPECT_EQ(document.outputs[0].name, "logits_1");
  EXPECT_EQ(network_of(read_bytes(directory_ / "out.onnx"), "out.onnx").info().classes, 2);
}

}  // namespace
}  // namespace syrtos::onnx

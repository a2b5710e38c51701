#pragma once

#include <onnx.pb.h>

#include <cstring>
#include <string>
#include <vector>

namespace syrtos::onnx {

/// An ONNX file, made node by node with the official messages.
class MadeModel {
 public:
  explicit MadeModel(int64_t opset = 17) {
    model.set_ir_version(8);
    model.add_opset_import()->set_version(opset);
  }

  void input(const std::string& name, const std::vector<int64_t>& shape) {
    describe(*graph().add_input(), name, shape);
  }
  void output(const std::string& name, const std::vector<int64_t>& shape) {
    describe(*graph().add_output(), name, shape);
  }
  /// Values that are not all the same: multiples of `step`, around 0.
  ::onnx::TensorProto& weight(const std::string& name, const std::vector<int64_t>& shape,
                              float step = 0.01F, float first = 0) {
    ::onnx::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(::onnx::TensorProto::FLOAT);
    int64_t count = 1;
    for (const int64_t extent : shape) {
      tensor.add_dims(extent);
      count *= extent;
    }
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i) {
      values.push_back(first + step * static_cast<float>(i * 7 % 23 - 11));
    }
    tensor.set_raw_data(values.data(), values.size() * sizeof(float));
    return tensor;
  }
  void integers(const std::string& name, const std::vector<int64_t>& values) {
    ::onnx::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(::onnx::TensorProto::INT64);
    tensor.add_dims(static_cast<int64_t>(values.size()));
    for (const int64_t value : values) tensor.add_int64_data(value);
  }
  ::onnx::NodeProto& node(const std::string& operation, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs) {
    ::onnx::NodeProto& made = *graph().add_node();
    made.set_op_type(operation);
    made.set_name(outputs[0] + "_node");
    for (const std::string& name : inputs) made.add_input(name);
    for (const std::string& name : outputs) made.add_output(name);
    return made;
  }
  static void set(::onnx::NodeProto& node, const std::string& name, int64_t value) {
    attribute(node, name, ::onnx::AttributeProto::INT).set_i(value);
  }
  static void set(::onnx::NodeProto& node, const std::string& name, float value) {
    attribute(node, name, ::onnx::AttributeProto::FLOAT).set_f(value);
  }
  static void set(::onnx::NodeProto& node, const std::string& name, const std::string& text) {
    attribute(node, name, ::onnx::AttributeProto::STRING).set_s(text);
  }
  static void set(::onnx::NodeProto& node, const std::string& name,
                  const std::vector<int64_t>& values) {
    auto& made = attribute(node, name, ::onnx::AttributeProto::INTS);
    for (const int64_t value : values) made.add_ints(value);
  }

  ::onnx::GraphProto& graph() { return *model.mutable_graph(); }
  std::string bytes() const { return model.SerializeAsString(); }

  ::onnx::ModelProto model;

 private:
  static ::onnx::AttributeProto& attribute(::onnx::NodeProto& node, const std::string& name,
                                           ::onnx::AttributeProto::AttributeType type) {
    ::onnx::AttributeProto& made = *node.add_attribute();
    made.set_name(name);
    made.set_type(type);
    return made;
  }
  static void describe(::onnx::ValueInfoProto& info, const std::string& name,
                       const std::vector<int64_t>& shape) {
    info.set_name(name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(::onnx::TensorProto::FLOAT);
    type.mutable_shape();
    for (const int64_t extent : shape) {
      auto& dim = *type.mutable_shape()->add_dim();
      if (extent > 0) {
        dim.set_dim_value(extent);
      } else {
        dim.set_dim_param("open");
      }
    }
  }
};

/// Convolution, batch norm, ReLU, pooling, a flattening by Shape arithmetic, and a dense layer: as
/// PyTorch exports a small classifier of three classes for 1x8x8 images and a batch of one.
inline MadeModel small_classifier(int64_t opset = 17) {
  MadeModel made(opset);
  made.input("images", {1, 1, 8, 8});
  made.weight("conv.weight", {4, 1, 3, 3}, 0.05F);
  made.weight("bn.weight", {4}, 0.02F, 1);
  made.weight("bn.bias", {4});
  made.weight("bn.running_mean", {4});
  made.weight("bn.running_var", {4}, 0.02F, 1);
  made.weight("fc.weight", {3, 16}, 0.04F);
  made.weight("fc.bias", {3});
  made.integers("zero", {0});
  made.integers("minus", {-1});
  auto& conv = made.node("Conv", {"images", "conv.weight"}, {"a"});
  MadeModel::set(conv, "pads", std::vector<int64_t>{1, 1, 1, 1});
  MadeModel::set(conv, "kernel_shape", std::vector<int64_t>{3, 3});
  made.node("BatchNormalization",
            {"a", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"}, {"b"});
  made.node("Relu", {"b"}, {"c"});
  auto& pool = made.node("MaxPool", {"c"}, {"d"});
  MadeModel::set(pool, "kernel_shape", std::vector<int64_t>{4, 4});
  MadeModel::set(pool, "strides", std::vector<int64_t>{4, 4});
  made.node("Shape", {"d"}, {"shape"});
  made.node("Gather", {"shape", "zero"}, {"batch"});
  made.node("Concat", {"batch", "minus"}, {"flat"});
  MadeModel::set(*made.graph().mutable_node(made.graph().node_size() - 1), "axis", int64_t{0});
  made.node("Reshape", {"d", "flat"}, {"e"});
  auto& gemm = made.node("Gemm", {"e", "fc.weight", "fc.bias"}, {"logits"});
  MadeModel::set(gemm, "transB", int64_t{1});
  made.output("logits", {1, 3});
  return made;
}

}  // namespace syrtos::onnx

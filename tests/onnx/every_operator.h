#pragma once

#include "tests/onnx/made_model.h"

namespace syrtos::onnx {

/// A file with every operator that has a rule, on images, and every one that is computed
/// beforehand, on numbers: all of them reach the logits.
class EveryOperator {
 public:
  static MadeModel make() { return EveryOperator().made_; }

 private:
  EveryOperator() : made_(17) {
    made_.input("images", {1, 4, 6, 6});
    x_ = "images";
    // What functions flatten is not all that reaches the logits.
    for (const auto part :
         {&EveryOperator::windows, &EveryOperator::norms, &EveryOperator::functions,
          &EveryOperator::pairs, &EveryOperator::moves}) {
      (this->*part)();
      on("Add", {"images"});
    }
    numbers();
    moved_numbers();
    made_.node("Shape", {x_}, {"measured"});
    on("Reshape", {out("Add", {"measured", zero_})});
    head();
  }

  using List = std::vector<int64_t>;

  std::string fresh() { return "v" + std::to_string(count_++); }
  std::string out(const std::string& operation, const std::vector<std::string>& inputs) {
    const std::string name = fresh();
    last_ = &made_.node(operation, inputs, {name});
    return name;
  }
  std::string list(const List& values) {
    const std::string name = fresh();
    made_.integers(name, values);
    return name;
  }
  std::string weight(const List& shape, float first = 0) {
    const std::string name = "w" + std::to_string(count_++);
    made_.weight(name, shape, 0.02F, first);
    return name;
  }
  std::string number(float value) {
    const std::string name = out("Constant", {});
    set("value_float", value);
    return name;
  }
  template <typename T>
  void set(const std::string& name, const T& value) {
    MadeModel::set(*last_, name, value);
  }
  /// The next operation on the images.
  void on(const std::string& operation, std::vector<std::string> more = {}) {
    more.insert(more.begin(), x_);
    x_ = out(operation, more);
  }

  void windows() {
    on("Conv", {weight({4, 2, 3, 3}), weight({4})});
    set("pads", List{1, 1, 1, 1});
    set("group", int64_t{2});
    on("MaxPool");
    set("kernel_shape", List{3, 3});
    set("pads", List{1, 1, 1, 1});
    on("AveragePool");
    set("kernel_shape", List{2, 2});
    set("strides", List{2, 2});
    set("ceil_mode", int64_t{1});
    on("ConvTranspose", {weight({4, 4, 2, 2}), weight({4})});
    set("strides", List{2, 2});
    const std::string maxima = out("GlobalMaxPool", {x_});
    const std::string means = out("GlobalAveragePool", {x_});
    on("Mul", {maxima});
    on("Add", {means});
  }

  void norms() {
    on("BatchNormalization", {weight({4}, 1), weight({4}), weight({4}), weight({4}, 1)});
    on("LayerNormalization", {weight({6}, 1), weight({6})});
    const std::string mean = fresh();
    last_->add_output(mean);
    on("Sub", {mean});
    on("GroupNormalization", {weight({2}, 1), weight({2})});
    set("num_groups", int64_t{2});
    on("InstanceNormalization", {weight({4}, 1), weight({4})});
    on("LRN");
    set("size", int64_t{3});
    on("Softmax");
    set("axis", int64_t{1});
    on("LogSoftmax");
    for (const std::string operation : {"ReduceMean", "ReduceMax"}) {
      const std::string reduced = out(operation, {x_});
      set("axes", List{2});
      on("Sub", {reduced});
    }
    on("Add", {out("ReduceSum", {x_, list({-1})})});
    on("Dropout", {number(0.2F)});
  }

  void functions() {
    for (const std::string operation :
         {"Relu", "Sigmoid", "Tanh", "LeakyRelu", "Elu", "HardSigmoid", "HardSwish", "Softplus",
          "Gelu", "Neg", "Abs", "Exp", "Sqrt", "Log", "Erf", "Identity"}) {
      on(operation);
    }
    on("Clip", {number(-3), number(3)});
    on("PRelu", {weight({4, 1, 1})});
    on("Cast");
    set("to", int64_t{1});
    on("Reciprocal");
  }

  void pairs() {
    on("Add", {weight({4, 1, 1})});
    on("Sub", {weight({6})});
    on("Mul", {weight({4, 6, 6}, 1)});
    on("Div", {weight({4, 1, 1}, 2)});
    on("Pow", {number(2)});
    for (const std::string operation : {"Sum", "Min", "Max"}) on(operation, {weight({6, 6}), x_});
  }

  void moves() {
    on("Reshape", {list({1, 2, 2, 6, 6})});
    on("Transpose");
    set("perm", List{0, 2, 1, 3, 4});
    on("Reshape", {list({0, 4, -1, 6})});
    on("Unsqueeze", {list({1})});
    on("Expand", {list({1, 2, 4, 6, 6})});
    on("Slice", {list({0}), list({1}), list({1}), list({1})});
    on("Squeeze", {list({1})});
    on("Concat", {x_});
    set("axis", int64_t{1});
    const std::string second = fresh();
    on("Split", {list({4, 4})});
    set("axis", int64_t{1});
    last_->add_output(second);
    on("Add", {second});
    on("Gather", {list({3, 1, 0, -2})});
    set("axis", int64_t{1});
    on("Pad", {list({0, 0, 1, 0, 0, 0, 1, 2}), number(0.5F)});
    on("Pad", {list({0, 0, -1, 0, 0, 0, -1, -2})});
    MadeModel::set(*last_, "mode", std::string("reflect"));
    on("Resize", {"", "", list({1, 4, 12, 9})});
    MadeModel::set(*last_, "mode", std::string("linear"));
    on("Slice", {list({-1, 0}), list({-100, 100}), list({2, 3}), list({-2, 2})});
    on("Pad", {list({0, 0, 0, 0, 0, 0, 0, 1})});
  }

  /// Numbers of any type and shape become part of the shape that the images get last: as 0.
  void use(const std::string& numbers) {
    const std::string whole = out("Cast", {numbers});
    set("to", int64_t{7});
    const std::string sum = out("ReduceSum", {whole});
    set("keepdims", int64_t{0});
    zero_ = out("Add", {zero_, out("Mul", {sum, none_})});
  }

  void numbers() {
    none_ = list({0});
    zero_ = list({0});
    const std::string a = list({1, 2, 3, 4});
    const std::string b = list({2, 2, 2, 2});
    for (const std::string operation :
         {"Add", "Sub", "Mul", "Div", "Mod", "Pow", "Min", "Max", "Equal", "Less", "Greater",
          "LessOrEqual", "GreaterOrEqual", "And", "Or"}) {
      use(out(operation, {a, b}));
    }
    const std::string real = out("Cast", {a});
    set("to", int64_t{1});
    for (const std::string operation : {"Neg", "Abs", "Not", "Floor", "Ceil", "Round", "Sqrt",
                                        "Exp", "Log", "Reciprocal", "Identity"}) {
      use(out(operation, {real}));
    }
    const std::string filled = out("ConstantOfShape", {b});
    use(filled);
    const auto scalar = [&](int64_t value) {
      const std::string name = out("Constant", {});
      set("value_int", value);
      return name;
    };
    use(out("Range", {scalar(0), scalar(8), scalar(2)}));
    use(out("Where", {out("Less", {a, b}), a, b}));
    const std::string several = out("Constant", {});
    set("value_ints", List{3, 4});
    use(several);
  }

  void moved_numbers() {
    const std::string shape = out("Shape", {x_});
    use(out("Size", {x_}));
    const std::string table = out("Reshape", {shape, list({2, -1})});
    use(out("Transpose", {table}));
    use(out("Expand", {table, list({3, 2, 2})}));
    use(out("Concat", {table, table}));
    set("axis", int64_t{0});
    use(out("Gather", {shape, list({-1, 0})}));
    use(out("Slice", {shape, list({-1}), list({-9}), list({0}), list({-2})}));
    const std::string half = fresh();
    const std::string first = out("Split", {shape});
    last_->add_output(half);
    use(first);
    use(half);
    use(out("Squeeze", {out("Unsqueeze", {shape, list({0})}), list({0})}));
    const std::string rows = out("Reshape", {list({0, 3}), list({2, 1})});
    use(out("ScatterND", {shape, rows, list({5, 6})}));
    for (const std::string operation : {"ReduceProd", "ReduceMax", "ReduceMin"}) {
      use(out(operation, {shape}));
    }
  }

  void head() {
    on("Flatten");
    on("MatMul", {weight({144, 5})});
    on("Gemm", {weight({3, 5}), weight({3})});
    set("transB", int64_t{1});
    made_.output(x_, {1, 3});
  }

  MadeModel made_;
  ::onnx::NodeProto* last_ = nullptr;
  std::string x_;
  std::string none_;
  std::string zero_;
  int count_ = 0;
};

}  // namespace syrtos::onnx

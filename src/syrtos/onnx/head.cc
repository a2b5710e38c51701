#include "syrtos/onnx/head.h"

#include <map>
#include <set>

namespace syrtos::onnx {

namespace {

class Search {
 public:
  explicit Search(const Document& document) : document_(document) {
    for (const Node& node : document.nodes) {
      for (const std::string& output : node.outputs) makers_[output] = &node;
    }
  }

  Head find() {
    const Port& output = document_.outputs[0];
    Head head{.logits = output.name};
    const Node* last = maker(head.logits);
    if (last != nullptr && (last->operation == "Softmax" || last->operation == "LogSoftmax")) {
      head.logits = last->inputs[0];
    }
    head.scores = last != nullptr && last->operation == "Sigmoid" ? last->inputs[0] : head.logits;
    look_back(head);
    if (head.classes == 0 && output.shape.size() == 2) {
      head.classes = std::max<int64_t>(0, output.shape[1]);
    }
    return head;
  }

 private:
  const Node* maker(const std::string& value) const {
    const auto found = makers_.find(value);
    return found == makers_.end() || found->second->inputs.empty() ? nullptr : found->second;
  }

  const Initializer* weight(const Node& node, size_t input) const {
    if (input >= node.inputs.size()) return nullptr;
    const auto found = document_.initializers.find(node.inputs[input]);
    return found == document_.initializers.end() ? nullptr : &found->second;
  }

  /// Past operations that leave the classes what they are.
  void look_back(Head& head) const {
    static const std::set<std::string_view> passed = {
        "Identity", "Reshape", "Flatten",           "Squeeze",     "Unsqueeze",  "Dropout",
        "Relu",     "Cast",    "GlobalAveragePool", "AveragePool", "ReduceMean", "Clip"};
    std::string bias;
    const Node* node = maker(head.scores);
    for (size_t steps = 0; node != nullptr && steps < document_.nodes.size(); ++steps) {
      if (node->operation == "Add" && bias.empty() && node->inputs.size() == 2) {
        const size_t second = weight(*node, 0) != nullptr ? 0 : 1;
        const Initializer* added = weight(*node, second);
        if (added == nullptr || added->shape.size() != 1) return;
        bias = node->inputs[second];
        node = maker(node->inputs[1 - second]);
      } else if (passed.contains(node->operation)) {
        node = maker(node->inputs[0]);
      } else {
        return take(*node, bias, head);
      }
    }
  }

  void take(const Node& node, const std::string& bias, Head& head) const {
    const Initializer* kernel = weight(node, 1);
    if (kernel == nullptr || !kernel->is_float || kernel->shape.size() < 2) return;
    const auto transposed = node.attributes.find("transB");
    if (node.operation == "Gemm") {
      const bool rows_are_outputs = transposed != node.attributes.end() &&
                                    std::get_if<int64_t>(&transposed->second) != nullptr &&
                                    std::get<int64_t>(transposed->second) != 0;
      head.classes_axis = rows_are_outputs ? 0 : 1;
    } else if (node.operation == "MatMul" && kernel->shape.size() == 2) {
      head.classes_axis = 1;
    } else if (node.operation == "Conv") {
      head.classes_axis = 0;
    } else {
      return;
    }
    head.kernel = node.inputs[1];
    head.classes = kernel->shape[static_cast<size_t>(head.classes_axis)];
    const Initializer* own = weight(node, 2);
    if (own != nullptr && own->shape.size() == 1) head.bias = node.inputs[2];
    if (!bias.empty()) head.bias = bias;
  }

  const Document& document_;
  std::map<std::string_view, const Node*> makers_;
};

}  // namespace

Head find_head(const Document& document) { return Search(document).find(); }

}  // namespace syrtos::onnx

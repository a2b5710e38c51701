#include "syrtos/compare/node_verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"
#include "syrtos/ops/activation.h"
#include "syrtos/ops/batch_norm.h"
#include "syrtos/ops/conv.h"
#include "syrtos/ops/gelu.h"
#include "syrtos/ops/lrn.h"
#include "syrtos/ops/pointwise.h"
#include "syrtos/ops/pool.h"

namespace syrtos::compare {

using nlohmann::json;

namespace {

class Explainer {
 public:
  Explainer(const json& node, const Arrays& truth, const ops::RefTensor& theirs, double tolerance)
      : node_(node), truth_(truth), theirs_(theirs), tolerance_(std::max(tolerance, 1e-6)) {}

  std::string explain() {
    const std::string op = node_["op"];
    std::string how;
    if (op == "conv") how = conv();
    if (op == "max_pool" || op == "average_pool") how = pool();
    if (op == "batch_norm") how = batch_norm();
    if (op == "reshape") how = reshape();
    if (op == "relu" || op == "tanh" || op == "sigmoid" || op == "gelu") how = activation();
    if (op == "lrn") how = lrn();
    if (op == "cross_entropy") how = loss();
    if (!how.empty()) return how;
    const ops::RefTensor& ours = truth_.at(node_["output"]);
    if (ours.shape != theirs_.shape) {
      return fmt::format("{} gives {}, ours {}", op, to_string(theirs_.shape),
                         to_string(ours.shape));
    }
    const Distance apart = distance(ours, theirs_);
    return fmt::format("{} differs by {:.2g} of its largest value, though its inputs are equal", op,
                       apart.absolute / std::max(apart.scale, 1e-300));
  }

 private:
  const ops::RefTensor& input(size_t i) const { return truth_.at(node_["inputs"][i]); }

  bool fits(const ops::RefTensor& guess) const {
    if (guess.values.size() != theirs_.values.size()) return false;
    const Distance apart = distance(guess, theirs_);
    return apart.absolute <= tolerance_ * std::max(apart.scale, 1e-12);
  }

  /// What an operation would give.
  ops::RefTensor result(const ops::Op& op, const std::vector<ops::RefTensor>& inputs) const {
    std::vector<TensorType> types;
    for (const ops::RefTensor& one : inputs) types.push_back({DType::f32, one.shape});
    std::vector<ops::RefTensor> outputs;
    for (const TensorType& type : op.infer(types)) outputs.emplace_back(type.shape);
    op.reference(inputs, outputs, {});
    return outputs[0];
  }

  ops::Window window() const {
    ops::Window made;
    made.kernel = node_["kernel"];
    made.stride = node_["stride"];
    made.dilation = node_["dilation"];
    for (size_t axis = 0; axis < 2; ++axis) {
      made.pad_begin[axis] = node_["pads"][axis][0];
      made.pad_end[axis] = node_["pads"][axis][1];
    }
    return made;
  }

  /// Every padding with which a window gives the peer's extents, tried until `fits` says yes.
  template <typename Fits>
  std::string paddings(const Fits& fits_with) const {
    const ops::Window ours = window();
    const Shape& from = input(0).shape;
    for (int64_t before = 0; before < std::max(ours.kernel[0], ours.kernel[1]); ++before) {
      for (int64_t more = 0; more < std::max(ours.kernel[0], ours.kernel[1]); ++more) {
        ops::Window guess = ours;
        for (size_t axis = 0; axis < 2; ++axis) {
          if (ours.kernel[axis] == 1) continue;
          guess.pad_begin[axis] = before;
          guess.pad_end[axis] = more;
        }
        if (guess.pad_begin == ours.pad_begin && guess.pad_end == ours.pad_end) continue;
        if (guess.output(0, from[2]) != theirs_.shape[2] ||
            guess.output(1, from[3]) != theirs_.shape[3] || !fits_with(guess)) {
          continue;
        }
        ops::Window same = ours;
        same.pad_same(std::vector<int64_t>{from[2], from[3]});
        const bool is_same = same.pad_begin == guess.pad_begin && same.pad_end == guess.pad_end;
        return fmt::format("pads {} before and {} behind, ours {} and {}{}", before, more,
                           ours.pad_begin[0], ours.pad_end[0],
                           is_same
                               ? fmt::format(" (padding \"same\" with stride {}: the odd zero goes "
                                             "to the end)",
                                             ours.stride[0])
                               : "");
      }
    }
    return {};
  }

  std::string conv() const {
    if (theirs_.shape.rank() != 4) return {};
    ops::Conv op;
    op.groups = node_["groups"];
    const bool bias = node_["inputs"].size() > 2;
    const auto with = [&](const ops::Window& guess, bool with_bias) {
      op.window = guess;
      ops::RefTensor made = result(op, {input(0), input(1)});
      if (!with_bias) return made;
      const int64_t pixels = made.shape[2] * made.shape[3];
      for (int64_t i = 0; i < made.shape.elements(); ++i) {
        made[i] += input(2)[i / pixels % made.shape[1]];
      }
      return made;
    };
    std::string how = paddings([&](const ops::Window& guess) { return fits(with(guess, bias)); });
    if (!how.empty()) return how;
    if (bias && fits(with(window(), false))) return "has no bias, ours has one";
    return {};
  }

  std::string pool() const {
    if (theirs_.shape.rank() != 4) return {};
    ops::Pool op;
    op.kind = node_["op"] == "max_pool" ? ops::PoolKind::max : ops::PoolKind::average;
    const bool counts = node_.value("count_padding", false);
    op.count_padding = counts;
    std::string how = paddings([&](const ops::Window& guess) {
      op.window = guess;
      return fits(result(op, {input(0)}));
    });
    if (!how.empty()) return how;
    op.window = window();
    op.count_padding = !counts;
    if (op.kind == ops::PoolKind::average && fits(result(op, {input(0)}))) {
      return counts ? "averages over what is not padding, ours counts zeros too"
                    : "averages over the padding's zeros too, ours does not";
    }
    op.count_padding = counts;
    op.kind = op.kind == ops::PoolKind::max ? ops::PoolKind::average : ops::PoolKind::max;
    if (fits(result(op, {input(0)}))) {
      return op.kind == ops::PoolKind::max ? "takes maxima, ours averages"
                                           : "takes averages, ours maxima";
    }
    return {};
  }

  // (y - beta) shrinks by sqrt((variance + epsilon) / (variance + theirs)): solved for theirs.
  std::string batch_norm() const {
    const auto ours = node_["epsilon"].get<double>();
    const ops::RefTensor& x = input(0);
    const ops::RefTensor& mine = truth_.at(node_["output"]);
    if (mine.shape != theirs_.shape) return {};
    const int64_t channels = x.shape[1];
    const int64_t pixels = x.shape.elements_from(1) / channels;
    std::vector<double> guesses;
    for (int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      double squares = 0;
      double a = 0;
      double b = 0;
      for (int64_t n = 0; n < x.shape[0]; ++n) {
        for (int64_t p = 0; p < pixels; ++p) {
          const int64_t i = (n * channels + c) * pixels + p;
          sum += x[i];
          squares += x[i] * x[i];
          const double y = mine[i] - input(2)[c];
          a += y * y;
          b += y * (theirs_[i] - input(2)[c]);
        }
      }
      const auto count = static_cast<double>(x.shape[0] * pixels);
      const double variance = squares / count - (sum / count) * (sum / count);
      if (a > 0 && b > 0) guesses.push_back((variance + ours) * (a / b) * (a / b) - variance);
    }
    ops::BatchNorm op;
    op.momentum = node_["momentum"];
    const std::vector<ops::RefTensor> inputs = {input(0), input(1), input(2), input(3), input(4)};
    if (!guesses.empty()) {
      std::nth_element(guesses.begin(), guesses.begin() + static_cast<long>(guesses.size() / 2),
                       guesses.end());
      op.epsilon = static_cast<float>(guesses[guesses.size() / 2]);
      if (fits(result(op, inputs))) {
        return fmt::format("batch norm's epsilon is {:.3g}, ours is {:.3g}", op.epsilon, ours);
      }
    }
    op.epsilon = static_cast<float>(ours);
    op.training = false;
    if (fits(result(op, inputs))) {
      return "batch norm uses the running statistics, ours those of the batch";
    }
    return {};
  }

  std::string reshape() const {
    const ops::RefTensor& x = input(0);
    if (x.shape.rank() != 4) return {};
    ops::RefTensor turned(x.shape);
    const int64_t pixels = x.shape[2] * x.shape[3];
    int64_t to = 0;
    for (int64_t n = 0; n < x.shape[0]; ++n) {
      for (int64_t p = 0; p < pixels; ++p) {
        for (int64_t c = 0; c < x.shape[1]; ++c) {
          turned[to++] = x[(n * x.shape[1] + c) * pixels + p];
        }
      }
    }
    if (!fits(turned)) return {};
    return "flattens in the order height, width, channels; ours is channels, height, width: the "
           "next "
           "layer's weights belong to other inputs";
  }

  std::string activation() const {
    using Kind = ops::ActivationKind;
    const std::vector<ops::RefTensor> inputs = {input(0)};
    const std::vector<std::pair<std::string, std::shared_ptr<ops::Op>>> all = {
        {"ReLU", std::make_shared<ops::Activation>(Kind::relu)},
        {"tanh", std::make_shared<ops::Activation>(Kind::tanh)},
        {"sigmoid", std::make_shared<ops::Activation>(Kind::sigmoid)},
        {"GELU by tanh", std::make_shared<ops::Gelu>()},
        {"GELU by erf", std::make_shared<ops::Pointwise>(ops::PointwiseKind::exact_gelu)},
        {"leaky ReLU of 0.01",
         std::make_shared<ops::Pointwise>(ops::PointwiseKind::leaky_relu, 0.01F)},
        {"ELU of 1", std::make_shared<ops::Pointwise>(ops::PointwiseKind::elu, 1.0F)}};
    for (const auto& [name, op] : all) {
      if (fits(result(*op, inputs))) {
        return fmt::format("is {}, ours is {}", name, node_["op"].get<std::string>());
      }
    }
    return {};
  }

  std::string lrn() const {
    const int64_t size = node_["size"];
    ops::LocalResponseNorm op;
    op.size = size;
    op.beta = node_["beta"];
    op.k = node_["k"];
    op.alpha = node_["alpha"].get<float>() * static_cast<float>(size);
    if (fits(result(op, {input(0)}))) {
      return "does not divide alpha by the number of channels, ours does";
    }
    return {};
  }

  std::string loss() const {
    if (theirs_.values.size() != 1) return {};
    const double ours = truth_.at(node_["output"])[0];
    const double factor = theirs_[0] / ours;
    const auto batch = static_cast<double>(input(0).shape[0]);
    if (std::abs(factor - batch) < 1e-6 * batch) {
      return "adds up the losses of the batch, ours is their mean";
    }
    return fmt::format("the loss is {:.6g}, ours is {:.6g}, of equal logits", theirs_[0], ours);
  }

  const json& node_;
  const Arrays& truth_;
  const ops::RefTensor& theirs_;
  double tolerance_;
};

}  // namespace

std::string explain_node(const json& node, const Arrays& truth, const ops::RefTensor& theirs,
                         double tolerance) {
  return Explainer(node, truth, theirs, tolerance).explain();
}

}  // namespace syrtos::compare

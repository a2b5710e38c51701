#include "syrtos/compare/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "syrtos/compare/node_verdict.h"

namespace syrtos::compare {

using nlohmann::json;

namespace {

bool differs(const ops::RefTensor& ours, const ops::RefTensor& theirs, double tolerance) {
  if (ours.values.size() != theirs.values.size()) return true;
  const Distance apart = distance(ours, theirs);
  return apart.absolute > tolerance * std::max(apart.scale, 1e-12);
}

/// c where b = c a everywhere; nothing when there is no such number.
std::optional<double> ratio(const std::vector<double>& a, const std::vector<double>& b) {
  double aa = 0;
  double ab = 0;
  double bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    aa += a[i] * a[i];
    ab += a[i] * b[i];
    bb += b[i] * b[i];
  }
  if (aa == 0 || bb == 0) return {};
  const double c = ab / aa;
  const double rest = bb - c * ab;  // of what c a does not explain
  if (rest > 1e-6 * bb) return {};
  return c;
}

std::vector<double> minus(const ops::RefTensor& a, const ops::RefTensor& b) {
  std::vector<double> result(a.values.size());
  for (size_t i = 0; i < result.size(); ++i) result[i] = a.values[i] - b.values[i];
  return result;
}

std::string layer_of(const std::string& parameter) {
  return parameter.substr(0, parameter.rfind('.'));
}

std::string several(const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0];
  return fmt::format("{} and {} more", names[0], names.size() - 1);
}

Cause statistics_cause(const json& node, const Step& step) {
  const std::string mean = node["inputs"][3];
  const std::string variance = node["inputs"][4];
  const double share = node["momentum"];
  const auto moved = [&](const std::string& name) {
    return ratio(minus(step.ours.at(name), step.before.at(name)),
                 minus(step.theirs.at(name), step.before.at(name)));
  };
  const auto of_mean = moved(mean);
  const auto of_variance = moved(variance);
  if (of_mean && of_variance && std::abs(*of_mean - *of_variance) < 1e-4 * std::abs(*of_mean)) {
    return {node["layer"], fmt::format("batch norm's momentum is {:.4g}, ours is {:.4g} (the share "
                                       "of a batch in the running statistics)",
                                       *of_mean * share, share)};
  }
  if (of_mean && std::abs(*of_mean - 1) < 1e-4) {
    return {node["layer"],
            "the running variance is not moved by the unbiased variance of the batch: divided by "
            "the number of values where ours is divided by one less"};
  }
  return {node["layer"], "batch norm's running statistics differ after one step"};
}

/// What L2 penalties that were forgotten or added would do.
Cause penalty_cause(const json& description, const Step& step,
                    const std::vector<std::string>& differing) {
  std::vector<std::string> added;
  std::vector<std::string> missing;
  for (const json& parameter : description["parameters"]) {
    const std::string name = parameter["name"];
    if (std::find(differing.begin(), differing.end(), name) == differing.end()) continue;
    const auto c =
        ratio(step.before.at(name).values, minus(step.theirs.at(name), step.ours.at(name)));
    const double one = step.rule.lr * step.rule.weight_decay * parameter["rate"].get<double>();
    if (!c || std::abs(std::abs(*c) - one) > 1e-3 * one) return {};
    (*c < 0 ? added : missing).push_back(name);
  }
  if (!added.empty() && missing.empty()) {
    return {
        layer_of(added[0]),
        fmt::format("the L2 penalty includes {}, ours does not: it has kernels alone, no biases "
                    "and no scales of batch norm",
                    several(added))};
  }
  if (!missing.empty() && added.empty()) {
    return {layer_of(missing[0]),
            fmt::format("the L2 penalty leaves out {}, which ours includes", several(missing))};
  }
  return {};
}

}  // namespace

Cause forward_cause(const json& description, const Arrays& truth, const Arrays& theirs,
                    double tolerance) {
  for (const json& node : description["nodes"]) {
    const std::string output = node["output"];
    const auto found = theirs.find(output);
    if (found == theirs.end()) continue;  // a peer need not tell all
    if (!differs(truth.at(output), found->second, tolerance)) continue;
    return {node["layer"], explain_node(node, truth, found->second, tolerance)};
  }
  return {};
}

Cause gradient_cause(const json& description, const Arrays& ours, const Arrays& theirs,
                     double tolerance) {
  double largest = 0;
  for (const auto& [name, values] : ours) {
    for (const double value : values.values) largest = std::max(largest, std::abs(value));
  }
  const json& nodes = description["nodes"];
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    for (const json& input : (*node)["inputs"]) {
      const auto found = ours.find(input.get<std::string>());
      if (found == ours.end()) continue;
      const ops::RefTensor& other = theirs.at(found->first);
      const Distance apart = distance(found->second, other);
      if (apart.absolute <= tolerance * std::max(apart.scale, 1e-3 * largest)) continue;
      const std::string how = (*node)["op"];
      if (const auto c = ratio(found->second.values, other.values)) {
        return {(*node)["layer"],
                fmt::format("the gradient of {} is {:.4g} times ours", found->first, *c)};
      }
      return {
          (*node)["layer"],
          fmt::format("the gradient of {} ({}) differs by {:.2g} of its largest value, though the "
                      "forward passes agree",
                      found->first, how, apart.absolute / std::max(apart.scale, 1e-300))};
    }
  }
  return {};
}

Cause update_cause(const json& description, const Step& step, double tolerance) {
  for (const json& node : description["nodes"]) {
    if (node["op"] != "batch_norm") continue;
    for (const size_t state : {3, 4}) {
      const std::string name = node["inputs"][state];
      if (differs(step.ours.at(name), step.theirs.at(name), tolerance)) {
        return statistics_cause(node, step);
      }
    }
  }
  std::vector<std::string> differing;
  for (const json& parameter : description["parameters"]) {
    const std::string name = parameter["name"];
    // What a step changes is small beside the weight: compared with the change.
    const std::vector<double> change = minus(step.ours.at(name), step.before.at(name));
    const double most =
        std::abs(*std::max_element(change.begin(), change.end(),
                                   [](double a, double b) { return std::abs(a) < std::abs(b); }));
    if (distance(step.ours.at(name), step.theirs.at(name)).absolute > tolerance * most) {
      differing.push_back(name);
    }
  }
  if (differing.empty()) return {};
  if (Cause found = penalty_cause(description, step, differing); !found.layer.empty()) return found;
  const std::string& first = differing[0];
  if (const auto c = ratio(minus(step.ours.at(first), step.before.at(first)),
                           minus(step.theirs.at(first), step.before.at(first)))) {
    if (std::abs(*c - 1) < 1e-5) {
      return {
          layer_of(first),
          fmt::format("a step changes {} by {:.1g} more or less than ours: a number of the rule "
                      "(learning rate, momentum, decay) was rounded to single precision",
                      several(differing), std::abs(*c - 1))};
    }
    return {layer_of(first), fmt::format("a step changes {} by {:.4g} times what ours does",
                                         several(differing), *c)};
  }
  return {layer_of(first), fmt::format("a step changes {} otherwise, though its gradient is ours",
                                       several(differing))};
}

}  // namespace syrtos::compare

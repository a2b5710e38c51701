#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <random>

#include "syrtos/graph/graph.h"
#include "syrtos/graph/program.h"
#include "syrtos/graph/reference.h"
#include "syrtos/ops/cpu/backend.h"

namespace syrtos::test {

/// Values for all inputs, parameters and states of a graph, as the reference and a program take
/// them: exactly the same numbers, all of them exact in bf16 too, so that maxima are the same.
/// Labels (s32) are below `classes`, variances positive.
class Feed {
 public:
  Feed(const graph::Graph& graph, uint32_t seed, int64_t classes = 10) : graph_(graph) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
    for (graph::ValueId id = 0; id < static_cast<graph::ValueId>(graph.values().size()); ++id) {
      const graph::Value& value = graph.value(id);
      if (value.kind == graph::ValueKind::computed) continue;
      Tensor tensor({value.type.dtype == DType::s32 ? DType::s32 : DType::f32, value.type.shape});
      for (int64_t i = 0; i < tensor.elements(); ++i) {
        float number = uniform(random);
        if (value.type.dtype == DType::s32) {
          number = static_cast<float>(random() % static_cast<uint32_t>(classes));
        } else if (value.kind == graph::ValueKind::state) {
          number = 0.5F + 0.5F * std::fabs(number);
        }
        if (value.kind != graph::ValueKind::state) number = static_cast<float>(BFloat16(number));
        tensor.set(i, number);
      }
      tensors_.emplace(id, tensor);
    }
  }

  std::map<graph::ValueId, ops::RefTensor> reference() const {
    std::map<graph::ValueId, ops::RefTensor> given;
    for (const auto& [id, tensor] : tensors_) {
      ops::RefTensor values(tensor.shape());
      for (int64_t i = 0; i < tensor.elements(); ++i) values[i] = tensor.get(i);
      given.emplace(id, std::move(values));
    }
    return given;
  }

  void give(graph::Program& program, graph::Parameters& parameters) const {
    for (const auto& [id, tensor] : tensors_) {
      const graph::Value& value = graph_.value(id);
      if (value.kind == graph::ValueKind::input) program.set_input(value.name, tensor);
      if (value.kind == graph::ValueKind::parameter) parameters.set(value.name, tensor);
      if (value.kind == graph::ValueKind::state) parameters.set_state(value.name, tensor);
    }
  }

 private:
  const graph::Graph& graph_;
  std::map<graph::ValueId, Tensor> tensors_;
};

/// The norm of the difference relative to that of the reference; one wrong element shows in it, one
/// unlucky rounding of a bf16 sum near zero does not.
inline double relative_difference(const ops::RefTensor& expected, const Tensor& found) {
  double reference = 1e-24;
  double difference = 0;
  for (int64_t i = 0; i < found.elements(); ++i) {
    const double distance = expected[i] - static_cast<double>(found.get(i));
    reference += expected[i] * expected[i];
    difference += distance * distance;
  }
  return std::isfinite(difference) ? std::sqrt(difference / reference) : INFINITY;
}

/// Compiles the graph, runs it once and compares every output and every gradient with the naive
/// references.
inline void expect_matches_reference(const graph::Graph& graph, double tolerance, uint32_t seed = 1,
                                     int64_t classes = 10) {
  const Feed feed(graph, seed, classes);
  const ops::Step step{7, 3, 5};
  const auto expected = graph::evaluate_reference(graph, feed.reference(), step);
  const std::unique_ptr<ops::Backend> backend = ops::cpu::make_backend();
  auto parameters = std::make_shared<graph::Parameters>();
  const auto program = graph::compile(graph, *backend, parameters);
  feed.give(*program, *parameters);
  program->run(step);
  for (const auto& [name, id] : graph.outputs()) {
    EXPECT_LE(relative_difference(expected.at(id), program->read(name)), tolerance)
        << "output " << name << "\n"
        << program->to_table();
  }
  for (const graph::ParameterGradient& pair : graph.gradients()) {
    const std::string& name = graph.value(pair.parameter).name;
    EXPECT_LE(relative_difference(expected.at(pair.gradient), parameters->get_gradient(name)),
              tolerance)
        << "gradient of " << name << "\n"
        << program->to_table();
  }
}

}  // namespace syrtos::test

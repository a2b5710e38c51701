#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "syrtos/tensor/shape.h"

namespace syrtos::ops {

class Op;

/// A value of a graph; kNone stands for "no value": an absent input or a gradient nobody needs.
using ValueId = int32_t;
constexpr ValueId kNone = -1;

/// What a gradient rule may do with the graph: look at types and add operations.
class GraphBuilder {
 public:
  virtual ~GraphBuilder() = default;
  virtual const TensorType& type(ValueId value) const = 0;
  /// Adds the operation and returns its outputs. Throws RequestError when the shapes do not fit.
  virtual std::vector<ValueId> add(std::shared_ptr<const Op> op,
                                   std::span<const ValueId> inputs) = 0;

  /// The same for an operation with one output, or of which only the first matters.
  ValueId add_one(std::shared_ptr<const Op> op, std::initializer_list<ValueId> inputs) {
    return add(std::move(op), std::span<const ValueId>(inputs.begin(), inputs.size()))[0];
  }
};

/// What a step's kernels need to know beside their tensors. Randomness is a pure function of it.
struct Step {
  uint64_t seed = 0;
  int64_t step = 0;          ///< global step, from 0
  int64_t first_sample = 0;  ///< position of the batch's first sample within the global batch
};

/// A tensor of doubles in row-major order: what naive references compute with.
struct RefTensor {
  Shape shape;
  std::vector<double> values;

  RefTensor() = default;
  explicit RefTensor(Shape s) : shape(s), values(static_cast<size_t>(s.elements())) {}
  double& operator[](int64_t i) { return values[static_cast<size_t>(i)]; }
  double operator[](int64_t i) const { return values[static_cast<size_t>(i)]; }
};

/// One operation: its shape rule, its gradient rule and a naive reference. Attributes are plain
/// public members; an Op is immutable once it stands in a graph. Kernels are made by a Backend.
class Op {
 public:
  virtual ~Op() = default;

  /// "conv", "conv.backward_data"
  virtual std::string_view name() const = 0;

  /// All attributes as text, "kernel 3x3 stride 2x2": printed, and, with the name, the identity
  /// by which equal sub-expressions are found.
  virtual std::string attributes() const { return {}; }

  /// Shape rule. Throws RequestError that names the operation and the shapes.
  virtual std::vector<TensorType> infer(std::span<const TensorType> inputs) const = 0;

  /// Gradient rule: adds to the graph the operations that turn the gradients of the outputs
  /// (kNone where nobody uses that output) into those of the inputs (kNone where there is none).
  /// The default is for operations that have no gradient.
  virtual std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                        std::span<const ValueId> outputs,
                                        std::span<const ValueId> output_gradients) const;

  /// Naive reference in double precision; `outputs` have their shapes already.
  virtual void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                         const Step& step) const = 0;

  /// Multiply-adds count twice; 0 for operations that only move or compare.
  virtual double flops(std::span<const TensorType> inputs,
                       std::span<const TensorType> outputs) const;

  /// True when running it twice does not give the same result or changes state (batch norm's
  /// running statistics): such nodes are never merged.
  virtual bool has_side_effects() const { return false; }

  /// True when it stays even where nobody uses what it gives: somebody elsewhere counts on it.
  virtual bool must_run() const { return false; }
};

/// Helpers for shape rules: each throws a RequestError "[name] ..." when the condition fails.
void require_inputs(const Op& op, std::span<const TensorType> inputs, size_t expected);
void require_rank(const Op& op, const TensorType& type, int rank, std::string_view what);
void require_same(const Op& op, const TensorType& a, const TensorType& b);
/// f32 or bf16: what activations are made of.
void require_float(const Op& op, const TensorType& type, std::string_view what);
void require_type(const Op& op, const TensorType& found, const TensorType& expected,
                  std::string_view what);
[[noreturn]] void fail_shape(const Op& op, const std::string& text);

}  // namespace syrtos::ops

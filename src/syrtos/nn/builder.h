#pragma once

#include <array>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/base/error.h"
#include "syrtos/graph/graph.h"
#include "syrtos/nn/init.h"
#include "syrtos/ops/activation.h"
#include "syrtos/ops/element_loss.h"
#include "syrtos/ops/pool.h"
#include "syrtos/ops/recurrence.h"

namespace syrtos::nn {

using graph::ValueId;

/// One number for each spatial axis; a single number stands for all of them.
struct Extent {
  std::array<int64_t, 2> axis;

  Extent(int64_t all) : axis{all, all} {}  // NOLINT(google-explicit-constructor): `.kernel = 3`
  Extent(int64_t height, int64_t width) : axis{height, width} {}
};

/// Padding of a convolution or a pooling: as many zeros as keep ceil(input / stride) outputs
/// (same), none (valid), or so many at both ends.
struct Padding {
  enum class Kind { same, valid, given };
  Kind kind = Kind::valid;
  Extent amount = 0;

  Padding(int64_t all) : kind(Kind::given), amount(all) {}  // NOLINT(google-explicit-constructor)
  Padding(int64_t height, int64_t width) : kind(Kind::given), amount(height, width) {}
  static Padding same() { return Padding(Kind::same); }
  static Padding valid() { return Padding(Kind::valid); }

 private:
  explicit Padding(Kind k) : kind(k) {}
};

struct ConvOptions {
  int64_t out = 1;
  Extent kernel = 1;
  Extent stride = 1;
  Padding padding = 0;
  Extent dilation = 1;
  int64_t groups = 1;
  bool bias = true;
  bool trainable = true;  ///< false: the kernel stays as it starts, a state; its bias is trained
  std::optional<Initializer> init = {};  ///< of the kernel; otherwise the builder's
};

struct PoolOptions {
  Extent kernel = 2;
  Extent stride = 2;
  Padding padding = 0;
  bool ceil = false;  ///< a last window that only partly fits counts too
};

struct DenseOptions {
  bool bias = true;
  bool f32_output = false;  ///< also when computing in bf16
  std::optional<Initializer> init = {};
};

struct BatchNormOptions {
  float epsilon = 1e-5F;
  float momentum = 0.1F;  ///< weight of the new batch in the running statistics
  bool scale = true;      ///< false: gamma is 1 and not trained
  /// Times the learning rate, for beta. Unless it is 1, beta also decays, by so much less that a
  /// step shrinks it as it shrinks a kernel.
  float beta_rate = 1;
};

struct RecurrentOptions {
  ops::RecurrenceKind kind = ops::RecurrenceKind::lstm;
  int64_t units = 1;
  int64_t layers = 1;  ///< one on the other
  /// Each layer walks both ways; its results are both hidden values, one behind the other.
  bool bidirectional = false;
  float dropout = 0;     ///< between layers
  bool sequence = true;  ///< false: only the hidden values at the end of each walk
};

struct NamedInitializer {
  std::string name;  ///< of a parameter or a state
  Initializer initializer;
};

/// A window is larger than what is left of the image: the input is too small for the network.
class ImageTooSmall : public RequestError {
 public:
  using RequestError::RequestError;
};

/// Adds layers to a graph: operations together with their parameters, which are named after the
/// layer ("layer1.0.conv1.weight"). Layers are unfused (convolution, bias, activation): joining
/// them is for the graph's passes. Kernels are in the compute type, biases and the parameters of
/// batch norm in f32; weight decay applies to kernels only, unless an option says otherwise.
class Builder {
 public:
  /// Keeps a prefix on the names of layers while it lives.
  class Scope {
   public:
    Scope(Builder& builder, std::string_view name);
    ~Scope() { builder_.prefix_.resize(length_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Builder& builder_;
    size_t length_;  ///< of the prefix before
  };

  Builder(graph::Graph& graph, DType compute, bool training)
      : graph_(graph), compute_(compute), training_(training) {}

  [[nodiscard]] Scope scope(std::string_view name) { return Scope(*this, name); }
  /// For the kernels of the layers from now on; he_normal at first.
  void set_kernel_initializer(const Initializer& initializer) { kernel_init_ = initializer; }
  /// For batch norms from now on, in training: statistics over all workers; not at first.
  void synchronise_batch_norm(bool yes) { synchronised_ = yes; }
  /// From now on every layer is that of so many networks side by side, each with parameters of its
  /// own: of what they compute, axis 1 has the channels of the first, then those of the second, and
  /// so on. Parameters lie alike, so that those of a member are a slice. Layers that cannot be
  /// divided so throw a RequestError.
  void stand_side_by_side(int64_t members) { members_ = members; }
  /// Layers from now on have this name, whatever else they would be called; empty: as usual.
  void call_layers(std::string_view name) { called_ = name; }
  /// Layers from now on have the weights of the one that is called so, and none of their own;
  /// empty: as usual. Throws RequestError where it has none of that shape.
  void use_weights_of(std::string_view layer) { lender_ = layer; }
  /// What the names of the present layer's weights begin with.
  std::string owner() const { return lender_.empty() ? layer_ : prefix_ + lender_; }

  bool synchronises_batch_norm() const { return synchronised_; }

  DType compute_type() const { return compute_; }
  bool training() const { return training_; }
  const TensorType& type(ValueId x) const { return graph_.type(x); }
  const Shape& shape(ValueId x) const { return graph_.type(x).shape; }
  /// Of one member, where several stand side by side.
  int64_t channels(ValueId x) const { return shape(x)[1] / (is_apart(x) ? members_ : 1); }

  // Layers with parameters. x is [N,C,spatial...], or [N,features] for dense and batch_norm.
  ValueId conv(std::string_view name, ValueId x, const ConvOptions& options);
  ValueId dense(std::string_view name, ValueId x, int64_t units, const DenseOptions& options = {});
  /// The last dense layer: its result is f32 and starts small enough for any number of classes.
  ValueId classifier(std::string_view name, ValueId x, int64_t classes);
  ValueId batch_norm(std::string_view name, ValueId x, const BatchNormOptions& options = {});

  // Layers of sequences.
  /// Whole numbers below `rows`, [N,...] or [N,1,1,length] -> [N,..., width].
  ValueId embedding(std::string_view name, ValueId x, int64_t rows, int64_t width);
  /// x [N,steps,features], a picture, whose rows are steps, or a signal [N,features,1,steps] ->
  /// [N,steps,units] or, of the end alone, [N,units]; twice as many units
  /// when bidirectional. Its parameters are named and divided as PyTorch does it.
  ValueId recurrent(std::string_view name, ValueId x, const RecurrentOptions& options);

  ValueId relu(ValueId x) { return activation(x, ops::ActivationKind::relu, "relu"); }
  ValueId sigmoid(ValueId x) { return activation(x, ops::ActivationKind::sigmoid, "sigmoid"); }
  ValueId tanh(ValueId x) { return activation(x, ops::ActivationKind::tanh, "tanh"); }
  ValueId gelu(ValueId x);
  ValueId softmax(ValueId x);
  /// Nothing when not training.
  ValueId dropout(ValueId x, float rate);
  /// k + alpha / size * sum of squares, to the power of beta, is the divisor.
  ValueId lrn(ValueId x, int64_t size = 5, float alpha = 1e-4F, float beta = 0.75F, float k = 1);

  ValueId max_pool(ValueId x, const PoolOptions& options = {});
  ValueId avg_pool(ValueId x, const PoolOptions& options = {});
  ValueId adaptive_avg_pool(ValueId x, Extent output);
  /// [N,C,spatial...] -> [N,C]
  ValueId global_avg_pool(ValueId x);

  ValueId concat(const std::vector<ValueId>& parts, int axis = 1);
  ValueId add(ValueId a, ValueId b);
  ValueId scale(ValueId x, float factor);
  ValueId to_f32(ValueId x);
  /// [N,...] -> [N, the rest]
  ValueId flatten(ValueId x);
  /// Every stride-th pixel of each spatial axis.
  ValueId subsample(ValueId x, int64_t stride);
  /// Channels of zeros behind the ones there are.
  ValueId pad_channels(ValueId x, int64_t channels);

  // Losses, of shape [1] f32: means over the batch.
  /// Logits [N,classes], labels [N] s32; class_weights: one for each class, or none.
  ValueId cross_entropy(ValueId logits, ValueId labels, float smoothing = 0,
                        std::vector<float> class_weights = {});
  ValueId half_squared_error(ValueId prediction, ValueId target);
  /// Means over all elements too.
  ValueId element_loss(ops::ElementLossKind kind, ValueId prediction, ValueId target,
                       float delta = 1);

  // For networks that come as operations and weights with names of their own.
  /// Prefix and name: what the operations and parameters from now on belong to.
  void enter(std::string_view name);
  ValueId parameter_named(std::string name, const TensorType& type, float decay,
                          const Initializer& initializer, float rate = 1);
  /// In f32.
  ValueId state_named(std::string name, const Shape& shape, const Initializer& initializer);
  /// Where operations are added.
  graph::Graph& graph() {
    need_one_network("operation that is not a layer");
    return graph_;
  }

  /// Of every parameter and state made so far, in that order.
  const std::vector<NamedInitializer>& initializers() const { return initializers_; }

 private:
  /// Whether each member has channels of its own there; what comes before the first parameters is
  /// the same for all.
  bool is_apart(ValueId x) const { return apart_.contains(x); }
  /// What was made of values that are apart is so too.
  ValueId made_of(std::initializer_list<ValueId> inputs, ValueId result);
  ValueId apart(ValueId result);
  /// The same for each member.
  ValueId spread(ValueId x);
  std::vector<ValueId> members_of(ValueId x);
  /// What is joined along an axis, in such an order that each member's stands together.
  std::vector<ValueId> by_members(const std::vector<ValueId>& parts, int axis);
  void need_one_network(std::string_view layer) const;
  ValueId dense_of_members(ValueId x, int64_t units, const DenseOptions& options);
  ValueId activation(ValueId x, ops::ActivationKind kind, std::string_view name);
  ValueId pool(ValueId x, ops::PoolKind kind, const PoolOptions& options, std::string_view name);
  ValueId parameter(std::string_view name, const TensorType& type, float decay,
                    Initializer initializer, float rate = 1);
  ValueId state(std::string_view name, const Shape& shape, Initializer initializer);
  ValueId add_parameter(std::string name, const TensorType& type, float decay,
                        const Initializer& initializer, float rate);
  ValueId add_state(std::string name, const Shape& shape, const Initializer& initializer);
  /// The value of this name that another layer has made.
  ValueId borrowed(std::string_view name, graph::ValueKind kind, const TensorType& type) const;
  /// A kernel that is not trained, in the compute type.
  ValueId frozen_kernel(const Shape& shape, const Initializer& initializer);
  ValueId bias(ValueId x);
  /// Dropout within the present layer.
  ValueId drop(ValueId x, float rate);
  ValueId as_sequence(ValueId x);
  ValueId walk(ValueId x, const RecurrentOptions& options, std::string_view suffix, bool reverse);
  ops::Window window(ValueId x, const Extent& kernel, const Extent& stride, const Extent& dilation,
                     const Padding& padding, bool ceil, std::string_view what) const;

  graph::Graph& graph_;
  DType compute_;
  bool training_;
  bool synchronised_ = false;
  Initializer kernel_init_ = Initializer::he_normal();
  std::string prefix_;   ///< "layer1.0."
  std::string layer_;    ///< "layer1.0.conv1"
  std::string called_;   ///< see call_layers()
  std::string lender_;   ///< see use_weights_of()
  int64_t members_ = 1;  ///< see stand_side_by_side()
  std::set<ValueId> apart_;
  uint32_t dropouts_ = 0;
  std::vector<NamedInitializer> initializers_;
};

}  // namespace syrtos::nn

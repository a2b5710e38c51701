// The builder's layers of several networks side by side, and such networks.
#include <algorithm>

#include "syrtos/nn/builder.h"
#include "syrtos/nn/side_by_side.h"
#include "syrtos/ops/composed.h"
#include "syrtos/ops/concat.h"
#include "syrtos/ops/matmul.h"
#include "syrtos/ops/pointwise.h"
#include "syrtos/ops/shaping.h"

namespace syrtos::nn {

ValueId Builder::made_of(std::initializer_list<ValueId> inputs, ValueId result) {
  const bool divided =
      std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) { return is_apart(input); });
  return divided ? apart(result) : result;
}

ValueId Builder::apart(ValueId result) {
  if (members_ > 1) apart_.insert(result);
  return result;
}

ValueId Builder::spread(ValueId x) {
  if (members_ == 1 || is_apart(x)) return x;
  auto op = std::make_shared<ops::Concat>();
  op->axis = 1;
  const std::vector<ValueId> copies(static_cast<size_t>(members_), x);
  return apart(graph_.add(std::move(op), copies)[0]);
}

std::vector<ValueId> Builder::members_of(ValueId x) {
  const std::vector<int64_t> extents(static_cast<size_t>(members_), channels(x));
  return ops::split(graph_, x, 1, extents);
}

std::vector<ValueId> Builder::by_members(const std::vector<ValueId>& parts, int axis) {
  std::vector<ValueId> all;
  for (const ValueId part : parts) all.push_back(spread(part));
  if (axis != 1) return all;
  std::vector<std::vector<ValueId>> of_parts;
  for (const ValueId part : all) of_parts.push_back(members_of(part));
  all.clear();
  for (size_t m = 0; m < static_cast<size_t>(members_); ++m) {
    for (const std::vector<ValueId>& of_part : of_parts) all.push_back(of_part[m]);
  }
  return all;
}

void Builder::need_one_network(std::string_view layer) const {
  if (members_ == 1) return;
  fail_request(
      "{} networks do not stand side by side in one program: {} would mix them; train each by "
      "itself (--ensemble N --together no)",
      members_, layer);
}

// [N,members * in] -> [members,N,in] x [members,units,in]^T -> [N,members * units]
ValueId Builder::dense_of_members(ValueId x, int64_t units, const DenseOptions& options) {
  const int64_t samples = shape(x)[0];
  const int64_t in = channels(x);
  Initializer init = options.init.value_or(kernel_init_);
  init.apart = true;
  const ValueId kernel = parameter("weight", {compute_, {members_, units, in}}, 1, init);
  const std::array<int64_t, 3> member_first{1, 0, 2};
  x = ops::transpose(graph_, ops::reshape(graph_, x, {samples, members_, in}), member_first);
  auto op = std::make_shared<ops::MatMul>();
  op->transpose_b = true;
  op->f32_output = options.f32_output;
  x = graph_.add_one(std::move(op), {x, kernel});
  x = ops::reshape(graph_, ops::transpose(graph_, x, member_first), {samples, members_ * units});
  apart(x);
  return options.bias ? bias(x) : x;
}

namespace {

constexpr const char* kChoice = "members";
constexpr int64_t kMostMembers = 64;

/// log of the mean of the members' probabilities: scores whose softmax is that mean.
ValueId mean_scores(graph::Graph& graph, ValueId logits, int64_t members, int64_t classes) {
  const int64_t samples = graph.type(logits).shape[0];
  const ValueId each = ops::reshape(graph, logits, {samples, members, classes});
  const ValueId p = ops::softmax(graph, each, 2, false);
  const std::array<int64_t, 1> axis{1};
  const ValueId mean = ops::reduce(graph, p, ops::ReduceKind::mean, axis, false);
  constexpr float kLeast = 1e-30F;  // of which the logarithm is still a number
  const ValueId some = graph.add_one(
      std::make_shared<ops::Pointwise>(ops::PointwiseKind::clip, kLeast, 1.0F), {mean});
  return graph.add_one(std::make_shared<ops::Pointwise>(ops::PointwiseKind::logarithm), {some});
}

Heads heads_of_members(const Layers& layers, int64_t members, Builder& builder, ValueId images,
                       const ModelOptions& options) {
  builder.stand_side_by_side(members);
  const Heads own = layers(builder, images, options);
  if (!own.sides.empty()) {
    fail_request(
        "--together: networks with classifiers in their middle do not stand side by side: train "
        "each by itself (--together no)");
  }
  const ValueId logits = builder.to_f32(builder.flatten(own.logits));
  builder.stand_side_by_side(1);
  graph::Graph& graph = builder.graph();
  builder.enter("mean");
  Heads all{.logits = mean_scores(graph, logits, members, options.classes)};
  if (!options.training) return all;
  all.weight = 0;
  all.members = members;
  const std::vector<int64_t> extents(static_cast<size_t>(members), options.classes);
  for (const ValueId one : ops::split(graph, logits, 1, extents)) {
    all.sides.push_back({.logits = one, .weight = 1});
  }
  return all;
}

}  // namespace

Network side_by_side(const Network& network, int64_t members) {
  if (members < 1 || members > kMostMembers) {
    fail_request("{}: expected 1 to {} members side by side, found {}", network.name(),
                 kMostMembers, members);
  }
  if (members == 1) return network;
  NetworkInfo info = network.info();
  info.choices.emplace(kChoice, std::to_string(members));
  const auto layers = [of = network.layers(), members](Builder& builder, ValueId images,
                                                       const ModelOptions& options) {
    return heads_of_members(of, members, builder, images, options);
  };
  return {std::move(info), layers};
}

int64_t members_of(const NetworkReference& reference) {
  const auto found = reference.choices.find(kChoice);
  if (found == reference.choices.end()) return 1;
  try {
    size_t used = 0;
    const int64_t members = std::stoll(found->second, &used);
    if (used == found->second.size()) return members;
  } catch (const std::exception&) {  // said below
  }
  fail_request("{}: expected a whole number of members, found '{}'", to_string(reference),
               found->second);
}

NetworkReference member_reference(NetworkReference reference) {
  reference.choices.erase(kChoice);
  return reference;
}

}  // namespace syrtos::nn

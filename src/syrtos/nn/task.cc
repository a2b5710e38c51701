#include "syrtos/nn/task.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/ops/composed.h"
#include "syrtos/ops/shaping.h"

namespace syrtos::nn {

namespace {

struct Named {
  std::string_view name;
  Loss loss;
};

// The first name of each is what is written; the others are what people call it elsewhere.
constexpr std::array<Named, 12> kNames{{
    {"cross-entropy", Loss::cross_entropy},
    {"squared-error", Loss::squared_error},
    {"l1", Loss::absolute_error},
    {"huber", Loss::huber},
    {"binary-cross-entropy", Loss::binary_cross_entropy},
    {"mse", Loss::squared_error},
    {"l2", Loss::squared_error},
    {"mae", Loss::absolute_error},
    {"absolute-error", Loss::absolute_error},
    {"smooth-l1", Loss::huber},
    {"bce", Loss::binary_cross_entropy},
    {"ce", Loss::cross_entropy},
}};
constexpr size_t kWritten = 5;

std::string_view name_of(Loss loss) { return kNames[static_cast<size_t>(loss)].name; }

/// -sum(target * log p) / N, with the targets smoothed and weighted as those of single classes are.
ValueId mixed_cross_entropy(Builder& builder, const Task& task, ValueId outputs, ValueId targets,
                            bool training) {
  graph::Graph& graph = builder.graph();
  const Shape shape = builder.shape(outputs);
  ValueId shares = targets;
  const float smoothing = training ? static_cast<float>(task.label_smoothing) : 0;
  if (smoothing > 0) {
    Tensor floor({DType::f32, {1}});
    *floor.as<float>() = smoothing / static_cast<float>(shape[1]);
    shares = ops::binary(graph, ops::BinaryKind::add, builder.scale(targets, 1 - smoothing),
                         ops::literal(graph, std::move(floor)));
  }
  const ValueId log_p = ops::softmax(graph, outputs, 1, true);
  ValueId all = ops::binary(graph, ops::BinaryKind::multiply, shares, log_p);
  if (training && !task.class_weights.empty()) {
    // A sample counts as much as the classes in it.
    Tensor weights({DType::f32, {1, shape[1]}});
    std::copy(task.class_weights.begin(), task.class_weights.end(), weights.as<float>());
    const std::array<int64_t, 1> classes{1};
    const ValueId weight = ops::reduce(graph,
                                       ops::binary(graph, ops::BinaryKind::multiply, targets,
                                                   ops::literal(graph, std::move(weights))),
                                       ops::ReduceKind::sum, classes, true);
    all = ops::binary(graph, ops::BinaryKind::multiply, all, weight);
  }
  const ValueId sum = ops::reduce(graph, all, ops::ReduceKind::sum, {}, false);
  return builder.scale(sum, -1 / static_cast<float>(shape[0]));
}

/// See Teaching. Samples whose labels nobody knows have shares of 0, and learn of the teacher
/// alone.
ValueId taught_cross_entropy(Builder& builder, const Task& task, ValueId outputs, ValueId targets,
                             bool training) {
  graph::Graph& graph = builder.graph();
  const int64_t classes = builder.shape(outputs)[1];
  const std::array<int64_t, 2> halves{classes, classes};
  const std::vector<ValueId> parts = ops::split(graph, targets, 1, halves);
  const auto share = static_cast<float>(task.teaching.share);
  const auto temperature = static_cast<float>(task.teaching.temperature);
  const ValueId softened = temperature == 1 ? outputs : builder.scale(outputs, 1 / temperature);
  const ValueId of_teacher =
      builder.scale(mixed_cross_entropy(builder, Task(), softened, parts[1], false),
                    share * temperature * temperature);
  if (share == 1) return of_teacher;
  const ValueId of_labels = mixed_cross_entropy(builder, task, outputs, parts[0], training);
  return builder.add(builder.scale(of_labels, 1 - share), of_teacher);
}

ops::ElementLossKind element_kind(Loss loss) {
  return loss == Loss::absolute_error ? ops::ElementLossKind::absolute
         : loss == Loss::huber        ? ops::ElementLossKind::huber
                                      : ops::ElementLossKind::binary_cross_entropy;
}

}  // namespace

bool Task::operator==(const Task& other) const {
  const auto own_text = [](const Task& task) { return task.own ? task.own->text() : ""; };
  return loss == other.loss && delta == other.delta && label_smoothing == other.label_smoothing &&
         class_weights == other.class_weights && mixed == other.mixed &&
         teaching == other.teaching && mean == other.mean && deviation == other.deviation &&
         own_text(*this) == own_text(other);
}

std::string loss_name(const Task& task) { return task.own ? "of your own" : loss_text(task); }

std::string loss_text(const Task& task) {
  if (task.own) return task.own->text();
  const std::string name(name_of(task.loss));
  return task.loss == Loss::huber && task.delta != 1 ? fmt::format("{}:{}", name, task.delta)
                                                     : name;
}

Task parse_loss(std::string_view text) {
  if (text.starts_with('{')) {
    auto own = std::make_shared<const OwnLoss>(text);
    const Loss kind = own->of() == "classes"  ? Loss::cross_entropy
                      : own->of() == "labels" ? Loss::binary_cross_entropy
                                              : Loss::squared_error;
    return {.loss = kind, .own = std::move(own)};
  }
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  for (const Named& named : kNames) {
    if (named.name != name) continue;
    Task task{.loss = named.loss};
    if (colon == std::string_view::npos) return task;
    const std::string_view number = text.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), task.delta);
    if (task.loss == Loss::huber && error == std::errc() && end == number.data() + number.size() &&
        task.delta > 0 && task.delta <= 1e6F) {
      return task;
    }
    fail_request(
        "--loss: expected {}, found '{}'",
        task.loss == Loss::huber ? "huber:DELTA with a number above 0 and at most 1000000" : name,
        text);
  }
  std::vector<std::string> known = {"auto"};
  std::string list = "auto";
  for (size_t i = 0; i < kNames.size(); ++i) known.emplace_back(kNames[i].name);
  for (size_t i = 0; i < kWritten; ++i) list += fmt::format(", {}", kNames[i].name);
  fail_request("--loss: {}expected one of {}, found '{}'", did_you_mean(name, known), list, text);
}

ValueId add_targets(graph::Graph& graph, const Task& task, int64_t batch, int64_t outputs) {
  if (task.has_classes() && !task.mixed) return graph.add_input("labels", {DType::s32, {batch}});
  return graph.add_input("targets", {DType::f32, {batch, task.target_values(outputs)}});
}

ValueId add_loss(Builder& builder, const Task& task, ValueId outputs, ValueId targets,
                 bool training) {
  // What evaluates knows the numbers of classes, and computes losses by itself.
  if (task.own && (!task.has_classes() || task.mixed)) {
    return task.own->add_to(builder, outputs, targets);
  }
  if (task.has_classes()) {
    if (task.has_teacher()) return taught_cross_entropy(builder, task, outputs, targets, training);
    if (task.mixed) return mixed_cross_entropy(builder, task, outputs, targets, training);
    return builder.cross_entropy(outputs, targets,
                                 training ? static_cast<float>(task.label_smoothing) : 0,
                                 training ? task.class_weights : std::vector<float>{});
  }
  if (task.loss == Loss::squared_error) {
    const auto values = static_cast<float>(builder.shape(outputs)[1]);
    const ValueId loss = builder.half_squared_error(outputs, targets);
    return values == 1 ? loss : builder.scale(loss, 1 / values);
  }
  return builder.element_loss(element_kind(task.loss), outputs, targets, task.delta);
}

}  // namespace syrtos::nn

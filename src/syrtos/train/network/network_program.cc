#include "syrtos/train/network/network_program.h"

#include <algorithm>

#include "syrtos/base/error.h"

namespace syrtos::train {

NetworkProgram::NetworkProgram(const graph::Graph& graph, std::unique_ptr<graph::Program> program,
                               nn::Task task, int64_t batch)
    : program_(std::move(program)), task_(std::move(task)), batch_(batch) {
  if (graph.find("images") != graph::kNone) {
    const graph::Program::Placed& images = program_->input("images");
    SYRTOS_CHECK(ops::same_bytes(images.layout, ops::Layout::channels_last(), images.type), "{}",
                 images.layout.name());
    own_images_ = images.data;
    sample_bytes_ = static_cast<size_t>(images.type.bytes() / batch_);
  }
  for (const char* name : {"labels", "targets"}) {
    if (graph.find(name) == graph::kNone) continue;
    const graph::Program::Placed& targets = program_->input(name);
    targets_ = targets.data;
    target_values_ = static_cast<size_t>(targets.type.shape.elements() / batch_);
  }
  if (graph.find("logits") != graph::kNone) {
    const graph::Program::Placed& logits = program_->placed(graph.find("logits"));
    SYRTOS_CHECK(logits.type.dtype == DType::f32 && logits.layout.kind == ops::Layout::Kind::plain,
                 "{} {}", to_string(logits.type), logits.layout.name());
    outputs_ = logits.type.shape[1];
    logits_ = static_cast<const float*>(logits.data);
  }
}

void NetworkProgram::use(const data::Batch& batch) { use(batch, 0, batch.slice.count); }

void NetworkProgram::use(const data::Batch& batch, int64_t first, int64_t count) {
  SYRTOS_CHECK(count <= batch_, "{} samples for {}", count, batch_);
  if (has_images()) {
    program_->move_input("images", static_cast<std::byte*>(batch.images) +
                                       static_cast<size_t>(first) * sample_bytes_);
  }
  // Samples of which nothing is known but themselves are there to be predicted.
  const bool known =
      batch.targets.size() == static_cast<size_t>(batch.slice.count) * target_values_;
  if (targets_ == nullptr || !known) return;
  put_targets(batch.targets.subspan(static_cast<size_t>(first) * target_values_,
                                    static_cast<size_t>(count) * target_values_));
}

void NetworkProgram::put_targets(std::span<const float> targets) {
  if (!task_.has_classes() || task_.mixed) {
    std::copy(targets.begin(), targets.end(), static_cast<float*>(targets_));
    return;
  }
  std::transform(targets.begin(), targets.end(), static_cast<int32_t*>(targets_),
                 [](float label) { return static_cast<int32_t>(label); });
}

void* NetworkProgram::use_own_images() {
  if (has_images()) program_->move_input("images", own_images_);
  return own_images_;
}

std::span<const float> NetworkProgram::logits() const {
  return {logits_, static_cast<size_t>(batch_ * outputs_)};
}

}  // namespace syrtos::train

#include "syrtos/train/network/network_program.h"

#include <algorithm>

#include "syrtos/base/error.h"

namespace syrtos::train {

NetworkProgram::NetworkProgram(const graph::Graph& graph, std::unique_ptr<graph::Program> program,
                               int64_t batch)
    : program_(std::move(program)), batch_(batch) {
  if (graph.find("images") != graph::kNone) {
    const graph::Program::Placed& images = program_->input("images");
    SYRTOS_CHECK(ops::same_bytes(images.layout, ops::Layout::channels_last(), images.type), "{}",
                 images.layout.name());
    own_images_ = images.data;
    sample_bytes_ = static_cast<size_t>(images.type.bytes() / batch_);
  }
  if (graph.find("labels") != graph::kNone) {
    labels_ = static_cast<int32_t*>(program_->input("labels").data);
  }
  if (graph.find("logits") != graph::kNone) {
    const graph::Program::Placed& logits = program_->placed(graph.find("logits"));
    SYRTOS_CHECK(logits.type.dtype == DType::f32 && logits.layout.kind == ops::Layout::Kind::plain,
                 "{} {}", to_string(logits.type), logits.layout.name());
    classes_ = logits.type.shape[1];
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
  if (labels_ == nullptr) return;
  const auto labels = batch.labels.subspan(static_cast<size_t>(first), static_cast<size_t>(count));
  std::copy(labels.begin(), labels.end(), labels_);
}

void* NetworkProgram::use_own_images() {
  if (has_images()) program_->move_input("images", own_images_);
  return own_images_;
}

std::span<const float> NetworkProgram::logits() const {
  return {logits_, static_cast<size_t>(batch_ * classes_)};
}

}  // namespace syrtos::train

#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "syrtos/data/pipeline/teacher.h"
#include "syrtos/job/job.h"
#include "syrtos/train/network/compiled_network.h"

namespace syrtos::train {

/// A trained network that teaches: a checkpoint of ours, or an ONNX file with its weights.
struct TeacherMember {
  nn::Network network;
  std::filesystem::path file;
};

/// Makes one answer of those of several networks, row by row, for so many classes.
using JoinAnswers = std::function<std::vector<float>(const std::vector<std::vector<float>>& members,
                                                     size_t classes)>;

/// Trained networks that say how probable the classes of a job's samples are.
class TeacherNetworks final : public data::Teacher {
 public:
  /// They compute as the job does, in batches of its size. Throws RequestError when one of them
  /// takes other samples or knows other classes than the job.
  TeacherNetworks(const job::Job& job, const std::vector<TeacherMember>& members, JoinAnswers join);

  void answer(const data::TeacherImages& images, std::span<float> probabilities) override;

  /// Of all samples of the job's training data as they are, not softened. Throws RunError when it
  /// is stopped.
  std::vector<float> ask(const job::Job& job, const std::function<bool()>& should_stop);

 private:
  struct Member {
    std::unique_ptr<CompiledNetwork> network;
    data::Normalization normalization;  // the samples that it was trained on had
  };
  void check(const job::Job& job, const TeacherMember& asked, Member& member) const;
  std::vector<float> rows_of(Member& member, const data::TeacherImages& images) const;
  std::vector<float> probabilities_of(const data::TeacherImages& images);
  bool sees_the_same(const Member& member) const;
  void bring_over(const Member& member, const data::MixedShape& shape, void* images,
                  int64_t count) const;

  const int64_t batch_;
  const size_t classes_;
  const double temperature_;
  const data::Normalization normalization_;  // of the job's samples
  const JoinAnswers join_;
  std::mutex asking_;
  std::vector<Member> members_;
};

/// probabilities^(1 / temperature), with a sum of 1: what the softmax of scores becomes when they
/// are divided by the temperature.
void soften(double temperature, size_t classes, std::span<float> probabilities);

}  // namespace syrtos::train

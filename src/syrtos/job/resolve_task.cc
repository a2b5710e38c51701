#include "syrtos/job/resolve_task.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/data/target_statistics.h"
#include "syrtos/job/task_metrics.h"

namespace syrtos::job {

namespace {

nn::Loss loss_for(const data::TargetInfo& targets) {
  if (targets.values == 0) return nn::Loss::cross_entropy;
  return targets.binary && targets.values > 1 ? nn::Loss::binary_cross_entropy
                                              : nn::Loss::squared_error;
}

/// With what is asked for, or what fits.
nn::Task task_of(const JobRequest& request, const data::TargetInfo& targets) {
  nn::Task task;
  if (request.loss != "auto") {
    task = nn::parse_loss(request.loss);
    if (task.own && task.own->of().empty()) {
      task.loss = loss_for(targets);
      task.own = task.own->with(task.has_classes()  ? "classes"
                                : task.has_labels() ? "labels"
                                                    : "values");
    }
  } else {
    task.loss = loss_for(targets);
  }
  task.label_smoothing = request.label_smoothing;
  if (task.own && task.label_smoothing > 0) {
    fail_request("--label-smoothing: it is for cross-entropy, found a loss of your own");
  }
  return task;
}

void check_fit(const Job& job) {
  const bool values = job.targets.values > 0;
  if (job.task.has_classes() && values) {
    fail_request(
        "--loss {}: {} has values, not classes: use squared-error, l1, huber or "
        "binary-cross-entropy",
        nn::loss_name(job.task), job.data_name);
  }
  if (!job.task.has_classes() && !values) {
    fail_request(
        "--loss {}: {} has classes, not values to predict: use cross-entropy, or leave it "
        "out",
        nn::loss_name(job.task), job.data_name);
  }
}

/// Labels are there or not; what is between is a probability.
void check_labels(const Job& job) {
  if (!job.task.has_labels() || job.targets.binary || job.data.train->info().asks_samples) return;
  for (const auto& [data, word] :
       {std::pair(job.data.train.get(), "training"), std::pair(job.data.test.get(), "test")}) {
    for (int64_t i = 0; i < data->size(); ++i) {
      for (const float value : data->target(i).values) {
        if (value >= 0 && value <= 1) continue;
        fail_request(
            "--loss {}: expected labels from 0 to 1, found {} for {} sample {} of {}; "
            "squared-error learns values",
            nn::loss_name(job.task), value, word, i, job.data_name);
      }
    }
  }
}

void resolve_outputs(const JobRequest& request, Job& job) {
  const auto found = job.task.has_classes()
                         ? static_cast<int64_t>(job.data.train->info().classes.size())
                         : job.targets.values;
  job.classes = request.classes == kUnset ? found : request.classes;
  if (!job.task.has_classes()) {
    if (job.classes == found) return;
    fail_request("--classes: {} has {} value{} for each sample, found {}: leave it out",
                 job.data_name, found, found == 1 ? "" : "s", job.classes);
  }
  if (job.classes < 2) {
    fail_request("{}: expected samples of at least two classes, found one only", job.data_name);
  }
  if (job.classes < found) {
    fail_request("--classes: {} has labels of {} classes, found {}: use {} or more", job.data_name,
                 found, job.classes, found);
  }
}

/// As scikit-learn has it: classes count the same, however many samples they have.
std::vector<float> balanced_weights(const Job& job) {
  std::vector<int64_t> counts(static_cast<size_t>(job.classes));
  const data::Dataset& train = *job.data.train;
  if (train.info().asks_samples) {
    fail_request(
        "--class-weights balanced: the labels of {} are not known before they are read: "
        "give numbers",
        job.data_name);
  }
  for (int64_t i = 0; i < train.size(); ++i) ++counts[static_cast<size_t>(train.label(i))];
  std::vector<float> weights;
  int64_t present = 0;
  for (const int64_t count : counts) present += count > 0 ? 1 : 0;
  for (const int64_t count : counts) {
    weights.push_back(count == 0 ? 0
                                 : static_cast<float>(static_cast<double>(train.size()) /
                                                      static_cast<double>(present * count)));
  }
  return weights;
}

std::vector<float> parse_weights(const std::string& text, int64_t classes) {
  std::vector<float> weights;
  const char* at = text.data();
  const char* const end = at + text.size();
  bool good = true;
  while (good && at < end) {
    float weight = -1;
    const auto [next, error] = std::from_chars(at, end, weight);
    good = error == std::errc() && std::isfinite(weight) && weight >= 0 &&
           (next == end || (*next == ',' && next + 1 < end));
    weights.push_back(weight);
    at = next == end ? end : next + 1;
  }
  if (!good || static_cast<int64_t>(weights.size()) != classes) {
    fail_request(
        "--class-weights: expected none, balanced or {} numbers of at least 0, separated "
        "by commas, one for each class, found '{}'",
        classes, text);
  }
  return weights;
}

void resolve_class_weights(const JobRequest& request, Job& job) {
  if (request.class_weights == "none") return;
  if (job.task.own) {
    fail_request("--class-weights: they are for cross-entropy, found a loss of your own");
  }
  if (!job.task.has_classes()) {
    fail_request("--class-weights: only classes have weights, found --loss {}: leave it out",
                 nn::loss_name(job.task));
  }
  job.task.class_weights = request.class_weights == "balanced"
                               ? balanced_weights(job)
                               : parse_weights(request.class_weights, job.classes);
}

/// The outputs of weights that somebody else trained mean what they say.
bool standardises(const JobRequest& request, const Job& job) {
  if (request.target_scale == "standard") return true;
  if (request.target_scale == "none") return false;
  if (request.target_scale == "auto" && job.task.own) return false;  // made for what is there
  if (request.target_scale == "auto") {
    const nn::NetworkFile* file = job.network.file();
    return file == nullptr || !file->is_onnx() || job.weights.empty();
  }
  fail_request("--target-scale: expected auto, standard or none, found '{}'{}",
               request.target_scale,
               suggestion(request.target_scale, {"auto", "standard", "none"}));
}

void resolve_scale(const JobRequest& request, Job& job) {
  const bool standard = standardises(request, job);
  if (!job.task.has_values() || !standard) return;
  constexpr int64_t kEnough = 4096;  // samples to know mean and deviation well
  const data::Normalization scale =
      data::normalization_of(data::measure_targets(*job.data.train, kEnough));
  job.task.mean = scale.mean;
  job.task.deviation = scale.deviation;
}

void resolve_teaching(const JobRequest& request, Job& job) {
  if (job.teaching.from.empty()) return;
  if (!job.task.has_classes() || job.task.own) {
    fail_request("--teacher: it teaches classes by cross-entropy, found --loss {}: leave it out",
                 nn::loss_name(job.task));
  }
  const bool unknown = !job.teaching.unlabelled.empty() || job.teaching.synthetic > 0;
  if (unknown && job.task.label_smoothing > 0) {
    fail_request("--label-smoothing: samples without labels have none to smooth: leave it out");
  }
  job.task.teaching = {.share = request.teacher_share, .temperature = request.temperature};
}

}  // namespace

data::TargetKind target_kind(const JobRequest& request) {
  if (request.loss == "auto") return data::TargetKind::found_out;
  const nn::Task task = nn::parse_loss(request.loss);
  if (task.own && task.own->of().empty()) return data::TargetKind::found_out;
  return task.has_classes() ? data::TargetKind::classes : data::TargetKind::values;
}

void resolve_task(const JobRequest& request, Job& job) {
  job.targets = job.data.train->info().targets;
  job.task = task_of(request, job.targets);
  resolve_teaching(request, job);
  job.task.mixed =
      job.task.has_classes() && (job.augment.mixes() || job.task.own || job.task.has_teacher());
  check_fit(job);
  check_labels(job);
  resolve_outputs(request, job);
  resolve_class_weights(request, job);
  resolve_scale(request, job);
  job.early_stop.metric = &watched_metric(job.task, request.metric);
}

}  // namespace syrtos::job

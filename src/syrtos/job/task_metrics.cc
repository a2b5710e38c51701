#include "syrtos/job/task_metrics.h"

#include <fmt/format.h>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"

namespace syrtos::job {

const run::Metric& training_metric(const nn::Task& task) {
  return run::metric(task.has_values() ? "mae" : "accuracy");
}

std::vector<const run::Metric*> test_metrics(const nn::Task& task) {
  if (task.has_classes()) return {&run::metric("accuracy"), &run::metric("top5")};
  if (task.has_labels()) return {&run::metric("f1"), &run::metric("accuracy")};
  return {&run::metric("mae"), &run::metric("rmse"), &run::metric("r2")};
}

const run::Metric& watched_metric(const nn::Task& task, std::string_view name) {
  if (name == "auto") name = task.has_classes() ? "accuracy" : task.has_labels() ? "f1" : "loss";
  if (name == "loss") return run::metric("loss");
  std::vector<std::string> known = {"auto", "loss"};
  for (const run::Metric* metric : test_metrics(task)) {
    if (metric->name == name) return *metric;
    known.emplace_back(metric->name);
  }
  fail_request("--early-stop-metric: with --loss {} unknown metric '{}'{}", nn::loss_name(task),
               name, suggestion(name, known));
}

}  // namespace syrtos::job

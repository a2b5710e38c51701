#pragma once

#include <string_view>
#include <vector>

#include "syrtos/nn/task.h"
#include "syrtos/run/metric.h"

namespace syrtos::job {

/// What training samples are measured by, beside the loss.
const run::Metric& training_metric(const nn::Task& task);

/// What test samples are measured by, beside the loss, in the order of run::metrics().
std::vector<const run::Metric*> test_metrics(const nn::Task& task);

/// What the best epoch is chosen by, and early stopping watches: the name of one, or "auto": the
/// accuracy of classes, F1 of labels, of values the loss. Throws RequestError for one that the task
/// does not have.
const run::Metric& watched_metric(const nn::Task& task, std::string_view name);

}  // namespace syrtos::job

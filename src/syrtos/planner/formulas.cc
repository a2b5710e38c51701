#include "syrtos/planner/formulas.h"

#include <algorithm>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"

namespace syrtos::planner {

namespace {

Bounds between(double best, double worst) { return {best, (best + worst) / 2, worst}; }
Bounds exactly(double seconds) { return {seconds, seconds, seconds}; }

Bounds times(double factor, const Bounds& bounds) {
  return {factor * bounds.best, factor * bounds.estimate, factor * bounds.worst};
}

void check_seconds(const char* name, double seconds) {
  if (seconds > 0 && seconds <= kMostSeconds) return;  // NaN is neither
  fail_request("{}: expected seconds above 0, at most {:g}, found {}; measure it first", name,
               kMostSeconds, seconds);
}

void check_count(const char* name, int64_t count, int64_t most) {
  if (count >= 1 && count <= most) return;
  fail_request("{}: expected 1 to {}, found {}", name, format_count(most), count);
}

void check(const EstimateInput& input) {
  check_seconds("t_grad", input.t_grad);
  check_seconds("t_comm", input.t_comm);
  check_count("workers", input.workers, kMostWorkers);
  check_count("batches", input.batches, kMostBatches);
}

/// One synchronous iteration in which each worker computes for `compute` seconds.
Bounds sync_iteration(ServerKind server, double n, double t_comm, double compute) {
  if (server == ServerKind::distributed) return exactly(2 * t_comm * (n - 1) / n + compute);
  return between((n + 1) * t_comm + compute, 2 * n * t_comm + compute);
}

Bounds async_training(ServerKind server, double n, double d, double t_comm, double t_grad) {
  if (server == ServerKind::distributed) {
    return exactly(d / n * (2 * t_comm * (n - 1) / n + t_grad));
  }
  const double server_busy = (d + 1) * t_comm + t_grad;
  const double workers_busy = (n - 1) * t_comm + d / n * (2 * t_comm + t_grad);
  return between(std::max(server_busy, workers_busy), d / n * (2 * n * t_comm + t_grad));
}

}  // namespace

Bounds training_seconds(EstimateType type, ServerKind server, const EstimateInput& input) {
  check(input);
  const auto n = static_cast<double>(input.workers);
  const auto d = static_cast<double>(input.batches);
  switch (type) {
    case EstimateType::async:
      return async_training(server, n, d, input.t_comm, input.t_grad);
    case EstimateType::sync_join:
      return times(d / n, sync_iteration(server, n, input.t_comm, input.t_grad));
    case EstimateType::sync_split:
      return times(d, sync_iteration(server, n, input.t_comm, input.t_grad / n));
  }
  SYRTOS_CHECK(false, "type {}", static_cast<int>(type));
  return {};
}

Bounds speed_up(EstimateType type, ServerKind server, const EstimateInput& input) {
  const Bounds seconds = training_seconds(type, server, input);
  const double alone = static_cast<double>(input.batches) * input.t_grad;
  return {alone / seconds.best, alone / seconds.estimate, alone / seconds.worst};
}

bool has_bounds(ServerKind server) { return server == ServerKind::central; }

std::vector<std::string> estimate_type_names() { return {"async", "sync-join", "sync-split"}; }
std::vector<std::string> server_kind_names() { return {"central", "distributed"}; }

std::string to_string(EstimateType type) {
  return estimate_type_names()[static_cast<size_t>(type)];
}
std::string to_string(ServerKind server) {
  return server_kind_names()[static_cast<size_t>(server)];
}

EstimateType estimate_type_of(const strategy::Sync& sync) {
  if (sync.splits_batch()) return EstimateType::sync_split;
  return sync.sees_all_gradients() ? EstimateType::sync_join : EstimateType::async;
}

EstimateType parse_estimate_type(std::string_view text) {
  for (const EstimateType type :
       {EstimateType::async, EstimateType::sync_join, EstimateType::sync_split}) {
    if (to_string(type) == text) return type;
  }
  fail_request("unknown type '{}'{}", text, suggestion(text, estimate_type_names()));
}

ServerKind parse_server_kind(std::string_view text) {
  for (const ServerKind server : {ServerKind::central, ServerKind::distributed}) {
    if (to_string(server) == text) return server;
  }
  fail_request("unknown server '{}'{}", text, suggestion(text, server_kind_names()));
}

}  // namespace syrtos::planner

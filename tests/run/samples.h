#pragma once

#include <limits>
#include <vector>

#include "syrtos/run/about.h"
#include "syrtos/run/curve.h"
#include "syrtos/run/exchange.h"
#include "syrtos/run/hosts.h"
#include "syrtos/run/live.h"
#include "syrtos/run/metrics.h"
#include "syrtos/run/operators.h"
#include "syrtos/run/parts.h"
#include "syrtos/run/progress.h"
#include "syrtos/run/steps.h"
#include "syrtos/trace/recorder.h"

// Contents of a run's files in which no two values are the same.

namespace syrtos::run {

inline About sample_about() { return {.format = kFormat, .program = "syrtos 9.8", .made = 1.7e9}; }

inline trace::StepDivision sample_division(double scale) {
  trace::StepDivision division;
  for (size_t i = 0; i < trace::kParts; ++i) {
    division.seconds[i] = scale * (0.1 + static_cast<double>(i));
  }
  division.hidden_network = scale * 0.7;
  return division;
}

inline std::vector<EpochMetrics> sample_epochs() {
  EpochMetrics first{.epoch = 1,
                     .step = 10,
                     .samples = 640,
                     .train_loss = 2.25,
                     .train = {{&run::metric("accuracy"), 0.3}},
                     .test_loss = 2.1,
                     .test = {{&run::metric("accuracy"), 0.31}, {&run::metric("top5"), 0.8}},
                     .learning_rate = 0.1,
                     .images_per_s = 1234.5,
                     .seconds = sample_division(1),
                     .queue = 3.5,
                     .helped = 0.01,
                     .best = true,
                     .workers = {{0, "a", sample_division(1)}, {1, "b", sample_division(2)}}};
  EpochMetrics second = first;
  second.epoch = 2;
  second.step = 20;
  second.evaluated = second.best = false;
  second.test_loss = 0;
  second.test.clear();
  second.workers.clear();
  return {first, second};
}

inline std::vector<CurvePoint> sample_curve() {
  return {{.step = 5, .time = 1.7e9, .loss = 2.5, .score = 0.125, .images_per_s = 1000},
          {.step = 9, .time = 1.7e9 + 1.5, .loss = 2.25, .score = 0.25, .images_per_s = 1100}};
}

inline Progress sample_progress() {
  return {.state = State::interrupted,
          .step = 9,
          .steps = 20,
          .epoch = 1,
          .epochs = 2,
          .loss = 2.25,
          .score = {&run::metric("accuracy"), 0.3},
          .images_per_s = 1100,
          .time = 1.7e9,
          .message = "a \"quoted\" reason\n"};
}

inline std::vector<trace::DivisionRecord> sample_records(bool started) {
  std::vector<trace::DivisionRecord> records;
  for (int64_t step : {1, 2}) {
    records.push_back(trace::record_of_step(step, started ? 1'000'000'007 * step : 0,
                                            sample_division(static_cast<double>(step))));
  }
  records.back().steps = 4;
  return records;
}

inline std::vector<LiveRank> sample_live() {
  return {{0, "a", sample_records(false)}, {2, "c \"d\"", sample_records(false)}};
}

inline std::vector<trace::RankDivision> sample_steps() {
  return {{0, sample_records(true)}, {1, sample_records(true)}};
}

inline std::vector<TrainedPart> sample_parts() {
  return {{.first_step = 1,
           .last_step = 8,
           .workers = 4,
           .exchange = "ps-sharded:2",
           .sync = "async",
           .wire = "bf16",
           .update = "server",
           .split = "columns",
           .begun = 1.7e9,
           .ended = 1.7e9 + 12.5,
           .time = {.start = 0.25,
                    .data = 1.5,
                    .set_up = 0.375,
                    .meeting = 0.125,
                    .training = 10.5,
                    .end = 0.0625},
           .lost = {{3, "d", 7}}},
          {.first_step = 9,
           .last_step = 20,
           .workers = 3,
           .exchange = "allreduce",
           .sync = "join",
           .wire = "f32",
           .update = "worker",
           .split = "none",
           .begun = 1.7e9 + 20,
           .ended = 1.7e9 + 30,
           .lost = {}}};
}

inline HostCurves sample_hosts() {
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  HostCurves hosts;
  for (const char* name : {"a", "b \"c\""}) {
    for (int64_t i = 1; i <= 3; ++i) {
      const auto x = static_cast<double>(i);
      hosts[name].push_back({.time = 1'000'000'000 * i,
                             .seconds = 1.0,
                             .user = 0.1 * x,
                             .system = 0.05,
                             .iowait = unknown,
                             .idle = 0.3,
                             .memory_used = 3e9 + x,
                             .memory_available = 1.5e10,
                             .network_in = 1e8 / 3,
                             .network_out = 7,
                             .running = 2,
                             .processes = 200,
                             .rss = 1e20,
                             .process_cpu = 1.9});
    }
  }
  return hosts;
}

inline OperatorProfile sample_operators() {
  return {.network = "mlp",
          .precision = "bf16",
          .batch = 32,
          .threads = 2,
          .peak_gflops = 300.5,
          .f32_gflops = 100.25,
          .bf16_gflops = 300.5,
          .memory_gb_s = 12.5,
          .items = {{.layer = "fc1",
                     .operation = "matmul",
                     .kernel = "onednn",
                     .phase = "forward",
                     .calls = 20,
                     .seconds = 0.25,
                     .flops = 1e9,
                     .bytes = 4096},
                    {.layer = "fc1",
                     .operation = "matmul.backward_weights",
                     .kernel = "onednn",
                     .phase = "backward",
                     .calls = 19,
                     .seconds = 0.5,
                     .longest = 0.125,
                     .flops = 2e9,
                     .bytes = 8192}}};
}

inline RankTraffic sample_traffic(int rank) {
  return {.rank = rank,
          .host = std::string(1, static_cast<char>('a' + rank)),
          .clock_error_s = 1e-5 * (rank + 1),
          .seconds = 10.5,
          .measuring_s = 0.001,
          .bytes_sent = 1'000'000'007LL * (rank + 1),
          .bytes_received = 2'000'000'011,
          .messages_sent = 300,
          .messages_received = 400,
          .machine = "5ad1e7c0",
          .process = 4711,
          .cores = 8,
          .threads = 6,
          .cpu_s = 9.25,
          .ready_s = 0.75,
          .links = {{.to = 3, .bytes = 2e9, .seconds = 17.5, .retransmitted = 12}}};
}

inline ExchangeProfile sample_exchange() {
  return {.workers = 2,
          .exchange = "ps",
          .sync = "async",
          .wire = "f32",
          .buckets = {{.first_layer = "fc1",
                       .last_layer = "fc2",
                       .bytes = 4096,
                       .ready_s = 0.01,
                       .arrived_s = 0.02,
                       .exposed_s = 0.005}},
          .staleness = {{0, 5}, {1, 7}, {12, 1}},
          .ranks = {sample_traffic(0), sample_traffic(1)},
          .servers = {sample_traffic(2)},
          .bytes_sent = 3'000'000'021,
          .bytes_received = 4'000'000'022,
          .messages = 600,
          .clock_error_s = 3e-5,
          .measuring_share = 0.0042,
          .planned_step_s = 0.125};
}

inline std::vector<trace::RankEvents> sample_trace() {
  trace::Recorder recorder({.rank = 3, .host = "d"});
  trace::Track& track = *recorder.track("worker");
  track.span(recorder.name("forward"), 1'000, 2'000);
  return {recorder.events()};
}

}  // namespace syrtos::run

#include "probing.h"

#include <nanobind/stl/string.h>

#include <nlohmann/json.hpp>

#include "aside.h"
#include "syrtos/api/estimate.h"
#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "telling.h"

namespace syrtos::python {

namespace nb = nanobind;
using nlohmann::json;

namespace {

api::ProbeRequest probe_request(const Keywords& keywords, const nn::Network* network) {
  api::ProbeRequest request;
  if (network != nullptr) request.own = *network;
  const auto integer = [](const std::string& word, const std::string& text) {
    try {
      return static_cast<int64_t>(std::stoll(text));
    } catch (const std::exception&) {
      fail_request("{}: expected a whole number, found '{}'", word, text);
    }
  };
  for (const auto& [word, text] : keywords) {
    if (word == "network") {
      request.network = text;
    } else if (word == "batch") {
      request.batch = integer(word, text);
    } else if (word == "input") {
      request.input = text;
    } else if (word == "classes") {
      request.classes = integer(word, text);
    } else if (word == "precision") {
      request.precision = text;
    } else if (word == "threads") {
      request.threads = integer(word, text);
    } else if (word == "seconds") {
      request.seconds = std::stod(text);
    } else if (word == "profile") {
      request.profile = text == "True";
    }
  }
  return request;
}

double checked_seconds(const char* word, double seconds) {
  if (seconds > 0 && seconds <= planner::kMostSeconds) return seconds;  // NaN is neither
  fail_request("{}: expected seconds above 0, at most {:g}, found {}", word, planner::kMostSeconds,
               seconds);
}

int64_t checked_count(const char* word, int64_t count, int64_t most) {
  if (count >= 1 && count <= most) return count;
  fail_request("{}: expected 1 to {}, found {}", word, format_count(most), count);
}

}  // namespace

std::string probe_json(const Keywords& keywords, const nn::Network* network) {
  const api::ProbeRequest request = probe_request(keywords, network);
  Aside aside;
  json result;
  aside.run([&] {
    const api::ProbeWork work = api::resolve(request, surroundings(aside.should_stop()));
    result = api::to_json(train::probe_compute(work.network, work.options, aside.should_stop()));
  });
  return dumped(result);
}

nb::tuple estimate(const EstimateCall& call, const Keywords& keywords, const nn::Network* network) {
  api::Estimate estimate{.type = planner::parse_estimate_type(call.type),
                         .server = planner::parse_server_kind(call.server),
                         .bounds = call.bounds};
  estimate.input.workers = checked_count("workers", call.workers, planner::kMostWorkers);
  estimate.input.batches = checked_count("batches", call.batches, planner::kMostBatches);
  api::EstimateProbe probe{.probe = probe_request(keywords, network),
                           .bandwidth = call.bandwidth,
                           .t_grad = call.t_grad == 0,
                           .t_comm = call.t_comm == 0};
  if (!probe.t_grad) estimate.input.t_grad = checked_seconds("t_grad", call.t_grad);
  if (!probe.t_comm) estimate.input.t_comm = checked_seconds("t_comm", call.t_comm);
  if (probe.t_grad || probe.t_comm) {
    Aside aside;
    aside.run([&] { api::measure(probe, surroundings(aside.should_stop()), estimate); });
  }
  return nb::make_tuple(dumped(api::to_json(estimate, true)),
                        report::to_svg(api::chart_of(estimate)));
}

}  // namespace syrtos::python

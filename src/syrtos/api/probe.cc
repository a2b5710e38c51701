#include "syrtos/api/probe.h"

#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"
#include "syrtos/job/image_size.h"
#include "syrtos/job/networks.h"
#include "syrtos/job/resolve.h"
#include "syrtos/strategy/compute_times.h"

namespace syrtos::api {

using nlohmann::json;
using train::ProbeGroup;
using train::ProbeResult;

namespace {

json to_json(const std::vector<ProbeGroup>& groups) {
  json list = json::array();
  for (const ProbeGroup& group : groups) {
    list.push_back(
        {{"name", group.name}, {"count", group.count}, {"ms", group.ms}, {"gflops", group.gflops}});
  }
  return list;
}

}  // namespace

ProbeWork resolve(const ProbeRequest& request, const Surroundings& surroundings) {
  const CpuInfo& cpu = surroundings.cpu;
  ProbeWork work{.network = request.own ? *request.own : job::find_network(request.network),
                 .options = {}};
  const job::ImageSize size = job::parse_image_size(request.input);
  if (request.batch < 1) fail_request("--batch: expected 1 or more, found {}", request.batch);
  if (request.classes < 1 && request.classes != job::kUnset) {
    fail_request("--classes: expected 1 or more, found {}", request.classes);
  }
  if (request.threads < 0 || request.threads > 1024) {
    fail_request("--threads: expected 0 (all cores) to 1024, found {}", request.threads);
  }
  if (!(request.seconds >= 0 && request.seconds <= 86400)) {
    fail_request("--seconds: expected 0 to 86400, found {}", request.seconds);
  }
  work.options = {.batch = request.batch,
                  .image = size.shape_for(work.network.info()),
                  .classes = request.classes == job::kUnset ? 0 : request.classes,
                  .precision = job::choose_precision(request.precision, cpu),
                  .threads = request.threads > 0 ? static_cast<int>(request.threads) : cpu.cores,
                  .seconds = request.seconds,
                  .profile = request.profile};
  const train::Chosen chosen = train::choose_fastest(
      work.network, work.options,
      {.precision = request.precision == "auto", .threads = request.threads == 0},
      /*may_measure=*/true, cpu, surroundings.cache_home, surroundings.should_stop);
  work.options.precision = chosen.precision;
  work.options.threads = chosen.threads;
  return work;
}

Probed probe(const ProbeRequest& request, const TimesFile& times,
             const Surroundings& surroundings) {
  const ProbeWork work = resolve(request, surroundings);
  train::ProbeOptions options = work.options;
  options.profile = options.profile || !times.file.empty();
  Probed probed{.result = probe_compute(work.network, options, surroundings.should_stop)};
  if (!times.file.empty() && !surroundings.should_stop()) {
    strategy::ComputeTimes measured = probed.result.times;
    if (!times.batches.empty()) {
      std::vector<int64_t> batches = times.batches;
      batches.push_back(options.batch);
      measured = probe_times(work.network, options, batches, surroundings.should_stop);
    }
    if (!surroundings.should_stop()) strategy::write_compute_times(times.file, measured);
    probed.doubt = doubt_of(measured);
  }
  if (!request.profile) {  // it was for the file alone
    probed.result.by_operation.clear();
    probed.result.by_kernel.clear();
  }
  return probed;
}

SettingsProbed probe_settings(const ProbeRequest& request, const Surroundings& surroundings) {
  const ProbeWork work = resolve(request, surroundings);
  const std::vector<DType> dtypes = request.precision == "auto"
                                        ? train::precisions_of(surroundings.cpu)
                                        : std::vector{work.options.precision.dtype};
  const std::vector<int> threads = request.threads == 0
                                       ? train::thread_counts(surroundings.cpu.cores)
                                       : std::vector{work.options.threads};
  return {.batch = work.options.batch,
          .settings = compare_settings(work.network, work.options, dtypes, threads,
                                       surroundings.should_stop)};
}

DataProbed probe_data(const job::JobRequest& job, double seconds,
                      const Surroundings& surroundings) {
  if (!(seconds > 0 && seconds <= 3600)) {
    fail_request("--seconds: expected above 0 and up to 3600, found {}", seconds);
  }
  const job::Job resolved = job::resolve(job, surroundings.cpu, surroundings.cache_home);
  return {.job = to_request(resolved),
          .result = train::probe_data(resolved, seconds, surroundings.should_stop)};
}

json to_json(const DataProbed& probed) {
  const job::JobRequest& job = probed.job;
  const train::DataProbeResult& r = probed.result;
  return {{"data", job.data},           {"input", job.input},
          {"augment", job.augment},     {"batch", job.batch},
          {"precision", job.precision}, {"prefetch", job.prefetch},
          {"threads", job.threads},     {"samples", r.samples},
          {"seconds", r.seconds},       {"images_per_s", r.images_per_s},
          {"read_us", r.read_us},       {"transform_us", r.transform_us}};
}

json to_json(const SettingsProbed& probed) {
  json list = json::array();
  for (const train::Setting& setting : probed.settings) {
    list.push_back({{"precision", to_string(setting.dtype)},
                    {"threads", setting.threads},
                    {"t_step_ms", setting.step_ms}});
  }
  return list;
}

json to_json(const ProbeResult& r) {
  json result = {{"network", r.network},
                 {"parameters", r.parameters},
                 {"batch", r.batch},
                 {"input", {r.image[0], r.image[1], r.image[2]}},
                 {"classes", r.classes},
                 {"precision", to_string(r.precision.dtype)},
                 {"threads", r.threads},
                 {"steps", r.steps},
                 {"t_step_ms", r.t_step_ms},
                 {"t_forward_ms", r.t_forward_ms},
                 {"t_backward_ms", r.t_backward_ms},
                 {"t_update_ms", r.t_update_ms},
                 {"gflops", r.gflops},
                 {"peak_rss_mb", r.peak_rss_mb},
                 {"arena_mb", r.arena_mb}};
  if (!r.by_operation.empty()) {
    result["by_operation"] = to_json(r.by_operation);
    result["by_kernel"] = to_json(r.by_kernel);
  }
  return result;
}

}  // namespace syrtos::api

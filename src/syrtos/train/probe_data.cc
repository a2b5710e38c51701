#include "syrtos/train/probe_data.h"

#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/data/pipeline/loader.h"
#include "syrtos/train/resolve.h"

namespace syrtos::train {

namespace {

Job job_of(const DataProbeOptions& options) {
  Job job;
  job.data = options.data;
  job.augment = options.augment;
  job.input = options.input;
  job.batch = options.batch;
  job.precision = options.precision;
  job.prefetch = options.prefetch;
  job.cache = options.cache;
  job.threads = options.threads;
  return job;
}

}  // namespace

DataProbeResult probe_data(const DataProbeOptions& options, const CpuInfo& cpu,
                           const std::filesystem::path& cache_home,
                           const std::function<bool()>& should_stop) {
  if (!(options.seconds > 0 && options.seconds <= 3600)) {
    fail_request("--seconds: expected above 0 and up to 3600, found {}", options.seconds);
  }
  const ResolvedJob job = resolve(job_of(options), cpu, cache_home);
  const ThreadScope threads(static_cast<int>(job.job.threads));
  const data::Transform transform(job.data.train->info(), job.image, job.normalization, job.augment,
                                  job.precision.dtype);
  data::Loader loader(*job.data.train, transform,
                      {.batch = job.job.batch,
                       .seed = static_cast<uint64_t>(job.job.seed),
                       .remainder = job.remainder,
                       .prefetch = static_cast<int>(job.job.prefetch)});

  auto start = Clock::now();
  while (!should_stop() && seconds_since(start) < 1 && loader.next().epoch == 0) {
  }
  loader.take_stats();
  start = Clock::now();
  while (!should_stop() && seconds_since(start) < options.seconds) loader.next();
  const double seconds = seconds_since(start);
  const data::LoaderStats stats = loader.take_stats();
  const auto samples = static_cast<double>(std::max<int64_t>(1, stats.samples));
  return {.job = job.job,
          .samples = stats.samples,
          .seconds = seconds,
          .images_per_s = static_cast<double>(stats.samples) / seconds,
          .read_us = 1e6 * stats.read_s / samples,
          .transform_us = 1e6 * stats.transform_s / samples};
}

}  // namespace syrtos::train

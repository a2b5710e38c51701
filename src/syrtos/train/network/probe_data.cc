#include "syrtos/train/network/probe_data.h"

#include "syrtos/base/clock.h"
#include "syrtos/base/parallel.h"
#include "syrtos/data/pipeline/loader.h"

namespace syrtos::train {

DataProbeResult probe_data(const job::Job& job, double measured_s,
                           const std::function<bool()>& should_stop) {
  const ThreadScope threads(job.threads);
  const data::Transform transform(job.data.train->info(), job.image, job.normalization, job.augment,
                                  job.precision.dtype);
  data::Loader loader(*job.data.train, transform,
                      {.batch = job.batch,
                       .seed = job.seed,
                       .remainder = job.remainder,
                       .prefetch = job.prefetch,
                       .shares_of = job.task.mixed ? job.classes : 0,
                       .taught = job.task.has_teacher()});

  auto start = Clock::now();
  while (!should_stop() && seconds_since(start) < 1 && loader.next().epoch == 0) {
  }
  loader.take_stats();
  start = Clock::now();
  while (!should_stop() && seconds_since(start) < measured_s) loader.next();
  const double seconds = seconds_since(start);
  const data::LoaderStats stats = loader.take_stats();
  const auto samples = static_cast<double>(std::max<int64_t>(1, stats.samples));
  return {.samples = stats.samples,
          .seconds = seconds,
          .images_per_s = static_cast<double>(stats.samples) / seconds,
          .read_us = 1e6 * stats.read_s / samples,
          .transform_us = 1e6 * stats.transform_s / samples};
}

}  // namespace syrtos::train

#include "syrtos/api/settle.h"

#include "syrtos/train/measure/fastest.h"

namespace syrtos::api {

void settle(const job::JobRequest& request, const Surroundings& surroundings, job::Job& job) {
  constexpr int64_t kShort = 500;  // steps; measuring takes as long as some dozens
  if (!job.replay.empty()) return;
  const train::ProbeOptions probe{.batch = job.batch,
                                  .image = job.image,
                                  .classes = job.classes,
                                  .precision = job.precision,
                                  .threads = job.threads};
  const train::Wanted wanted{.precision = request.precision == "auto",
                             .threads = request.threads == 0 && job.workers == 1};
  const train::Chosen chosen =
      train::choose_fastest(job.network, probe, wanted, /*may_measure=*/job.total_steps() >= kShort,
                            surroundings.cpu, surroundings.cache_home, surroundings.should_stop);
  job.precision = chosen.precision;
  job.threads = chosen.threads;
}

}  // namespace syrtos::api

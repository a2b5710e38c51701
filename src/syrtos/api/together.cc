#include "syrtos/api/together.h"

#include <fmt/format.h>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/nn/side_by_side.h"
#include "syrtos/train/measure/fastest.h"
#include "syrtos/train/network/probe.h"

namespace syrtos::api {

TogetherChoice measure_together(const job::Job& job, int64_t members,
                                const Surroundings& surroundings) {
  TogetherChoice choice;
  choice.apart = measure_slots(job, surroundings);
  try {
    if (job.network.file() != nullptr) {
      fail_request("networks of files do not stand side by side");
    }
    const nn::Network all = nn::side_by_side(job.network, members);
    for (const int threads : train::thread_counts(surroundings.cpu.cores)) {
      if (surroundings.should_stop()) break;
      const train::ProbeOptions options{.batch = job.batch,
                                        .image = job.image,
                                        .classes = job.classes,
                                        .precision = job.precision,
                                        .threads = threads,
                                        .seconds = 0.5,
                                        .brief = true};
      const double step_s = train::probe_compute(all, options).t_step_ms / 1000;
      const double rate = static_cast<double>(job.batch * members) / step_s;
      if (rate <= choice.together_samples_per_s) continue;
      choice.together_samples_per_s = rate;
      choice.threads = threads;
    }
  } catch (const RequestError& error) {
    choice.why_not = error.what();
  }
  return choice;
}

std::string to_string(const TogetherChoice& choice, int64_t members) {
  const auto rate = [](double samples) { return format_count(static_cast<int64_t>(samples)); };
  const std::string apart =
      fmt::format("{} at once, each by itself: {} samples/s", choice.apart.best.slots,
                  rate(choice.apart.best.samples_per_s));
  if (!choice.why_not.empty()) return fmt::format("{} ({})", apart, choice.why_not);
  return fmt::format("{} members in one program: {} samples/s; {}", members,
                     rate(choice.together_samples_per_s), apart);
}

}  // namespace syrtos::api

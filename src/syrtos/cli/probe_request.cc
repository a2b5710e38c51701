#include "syrtos/cli/probe_request.h"

#include "syrtos/base/error.h"
#include "syrtos/job/image_size.h"
#include "syrtos/nn/zoo/zoo.h"

namespace syrtos::cli {

ProbeWork resolve(const ProbeRequest& request, const CpuInfo& cpu) {
  ProbeWork work{.network = nn::find_network(request.network), .options = {}};
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
  return work;
}

}  // namespace syrtos::cli

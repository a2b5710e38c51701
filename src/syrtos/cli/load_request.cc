#include "syrtos/cli/load_request.h"

#include "syrtos/base/error.h"
#include "syrtos/job/precision.h"
#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/run/directory.h"

namespace syrtos::cli {

train::Predictor load(const LoadRequest& request, const Context& context) {
  if (request.batch < 1) fail_request("--batch: expected 1 or more, found {}", request.batch);
  if (request.threads < 0 || request.threads > 1024) {
    fail_request("--threads: expected 0 (all cores) to 1024, found {}", request.threads);
  }
  const int threads = request.threads > 0 ? static_cast<int>(request.threads) : context.cpu.cores;
  const train::PredictorOptions options{
      .data = request.data,
      .precision = job::choose_precision(request.precision, context.cpu),
      .threads = threads,
      .batch = request.batch,
      .views = job::parse_views(request.views)};
  train::CheckpointReader checkpoint(run::find_checkpoint(request.checkpoint));
  const nn::Network network = nn::find_network(train::describe(checkpoint).network);
  return {network, checkpoint, options, context.environment.cache_home};
}

}  // namespace syrtos::cli

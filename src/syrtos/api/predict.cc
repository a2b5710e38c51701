#include "syrtos/api/predict.h"

#include "syrtos/base/error.h"
#include "syrtos/job/precision.h"
#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/run/directory.h"

namespace syrtos::api {

train::Predictor load(const LoadRequest& request, const Surroundings& surroundings) {
  if (request.batch < 1) fail_request("--batch: expected 1 or more, found {}", request.batch);
  if (request.threads < 0 || request.threads > 1024) {
    fail_request("--threads: expected 0 (all cores) to 1024, found {}", request.threads);
  }
  const train::PredictorOptions options{
      .data = request.data,
      .precision = job::choose_precision(request.precision, surroundings.cpu),
      .threads = request.threads > 0 ? static_cast<int>(request.threads) : surroundings.cpu.cores,
      .batch = request.batch,
      .views = job::parse_views(request.views)};
  train::CheckpointReader checkpoint(run::find_checkpoint(request.checkpoint));
  const nn::Network network =
      request.network ? *request.network : nn::find_network(train::describe(checkpoint).network);
  return {network, checkpoint, options, surroundings.cache_home};
}

train::Evaluation evaluate(const LoadRequest& request, const Surroundings& surroundings) {
  train::Predictor predictor = load(request, surroundings);
  return predictor.evaluate_test(surroundings.should_stop);
}

}  // namespace syrtos::api

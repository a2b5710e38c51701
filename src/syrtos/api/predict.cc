#include "syrtos/api/predict.h"

#include "syrtos/api/run_network.h"
#include "syrtos/base/error.h"
#include "syrtos/job/precision.h"
#include "syrtos/run/directory.h"

namespace syrtos::api {

namespace {

/// As it was trained, so that what is measured is what the training measured.
job::Precision precision_of(const std::string& name, DType trained_in, const CpuInfo& cpu) {
  const bool has_bf16 = cpu.has_amx_bf16 || cpu.has_avx512_bf16;
  if (name != "auto") return job::choose_precision(name, cpu);
  if (trained_in == DType::bf16 && !has_bf16) return job::choose_precision("f32", cpu);
  return {trained_in, "as it was trained"};
}

}  // namespace

train::Predictor load(const LoadRequest& request, const Surroundings& surroundings) {
  if (request.batch < 1) fail_request("--batch: expected 1 or more, found {}", request.batch);
  if (request.threads < 0 || request.threads > 1024) {
    fail_request("--threads: expected 0 (all cores) to 1024, found {}", request.threads);
  }
  train::CheckpointReader checkpoint(run::find_checkpoint(request.checkpoint));
  const train::NetworkDescription description = train::describe(checkpoint);
  const train::PredictorOptions options{
      .data = request.data,
      .precision = precision_of(request.precision, description.options.dtype, surroundings.cpu),
      .threads = request.threads > 0 ? static_cast<int>(request.threads) : surroundings.cpu.cores,
      .batch = request.batch,
      .views = job::parse_views(request.views)};
  const nn::Network network = request.network
                                  ? *request.network
                                  : network_of_checkpoint(checkpoint.file(), description.network);
  return {network, checkpoint, options, surroundings.cache_home};
}

train::Evaluation evaluate(const LoadRequest& request, const Surroundings& surroundings) {
  train::Predictor predictor = load(request, surroundings);
  return predictor.evaluate_test(surroundings.should_stop);
}

}  // namespace syrtos::api

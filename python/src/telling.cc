#include "telling.h"

#include <nlohmann/json.hpp>

namespace syrtos::python {

using nlohmann::json;

namespace {

const char* name_of(train::Outcome::End end) {
  switch (end) {
    case train::Outcome::End::complete:
      return "complete";
    case train::Outcome::End::stopped_early:
      return "stopped early";
    case train::Outcome::End::interrupted:
      return "interrupted";
  }
  return "?";
}

}  // namespace

std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json start_json(const train::StartInfo& info) {
  std::vector<std::string> notes = info.job.notes;
  notes.insert(notes.end(), info.notes.begin(), info.notes.end());
  return {{"run", info.directory.path().string()},
          {"network", info.job.network.name()},
          {"data", info.job.data_name},
          {"parameters", info.parameters},
          {"memory_bytes", info.memory_bytes},
          {"workers", info.job.workers},
          {"threads", info.job.threads},
          {"precision", to_string(info.job.precision.dtype)},
          {"steps_per_epoch", info.steps_per_epoch},
          {"total_steps", info.total_steps},
          {"first_step", info.first_step},
          {"notes", notes}};
}

json step_json(const train::StepProgress& progress) {
  return {progress.epoch,         progress.epochs,
          progress.step_in_epoch, progress.steps_per_epoch,
          progress.step,          progress.total_steps,
          progress.loss,          std::string(progress.score.metric->name),
          progress.score.value,   progress.images_per_s,
          progress.seconds};
}

json outcome_json(const train::Outcome& outcome) {
  return {{"end", name_of(outcome.end)},
          {"steps", outcome.position.step},
          {"epochs", outcome.position.epoch},
          {"seconds", outcome.seconds}};
}

}  // namespace syrtos::python

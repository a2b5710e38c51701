#include "training.h"

#include <nanobind/stl/string.h>

#include <nlohmann/json.hpp>

#include "aside.h"
#include "syrtos/api/train.h"
#include "syrtos/base/clock.h"
#include "syrtos/run/metrics.h"

namespace syrtos::python {

namespace nb = nanobind;
using nlohmann::json;

namespace {

std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

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

/// Tells Python what happens, on the thread that waits.
class Teller final : public train::TrainObserver {
 public:
  Teller(const TrainCall& call, Aside& aside) : call_(call), aside_(aside) {}

  void started(const train::StartInfo& info) override {
    if (call_.on_start.is_none()) return;
    std::vector<std::string> notes = info.job.notes;
    notes.insert(notes.end(), info.notes.begin(), info.notes.end());
    const std::string text = dumped(json{{"run", info.directory.path().string()},
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
                                         {"notes", notes}});
    tell(call_.on_start, text);
  }

  void step(const train::StepProgress& progress) override {
    if (call_.on_step.is_none() || aside_.stopped()) return;
    const Clock::time_point now = Clock::now();
    const bool last = progress.step == progress.total_steps;
    if (!last && call_.tell_every_s > 0 && seconds_between(told_, now) < call_.tell_every_s) return;
    told_ = now;
    aside_.call([&] {
      const nb::object answer =
          call_.on_step(progress.epoch, progress.epochs, progress.step_in_epoch,
                        progress.steps_per_epoch, progress.step, progress.total_steps,
                        progress.loss, std::string(progress.score.metric->name),
                        progress.score.value, progress.images_per_s, progress.seconds);
      take(answer);
    });
  }

  void epoch(const run::EpochMetrics& metrics) override {
    if (call_.on_epoch.is_none()) return;
    tell(call_.on_epoch, dumped(run::to_json(metrics)));
  }

 private:
  static double seconds_between(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  }
  void tell(const nb::object& function, const std::string& text) {
    aside_.call([&] { take(function(text)); });
  }
  void take(const nb::object& answer) {
    if (answer.ptr() == Py_False) aside_.stop();
  }

  const TrainCall& call_;
  Aside& aside_;
  Clock::time_point told_ = {};
};

}  // namespace

nb::tuple train(const TrainCall& call) {
  api::TrainRequest request;
  request.job = job_request(call.job_file, call.resume, call.keywords);
  request.resume = call.resume;
  if (call.network != nullptr) request.own.network = *call.network;
  if (call.train != nullptr) request.own.data = job_data(*call.train, call.test);
  Aside aside;
  Teller teller(call, aside);
  api::Trained trained;
  aside.run([&] { trained = api::train(request, surroundings(aside.should_stop()), teller); });
  const std::string outcome = dumped(json{{"end", name_of(trained.outcome.end)},
                                          {"steps", trained.outcome.position.step},
                                          {"epochs", trained.outcome.position.epoch},
                                          {"seconds", trained.outcome.seconds}});
  return nb::make_tuple(trained.run.string(), outcome);
}

}  // namespace syrtos::python

#include "training.h"

#include <nanobind/stl/string.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "aside.h"
#include "syrtos/api/train.h"
#include "syrtos/base/clock.h"
#include "syrtos/run/metrics.h"
#include "telling.h"

namespace syrtos::python {

namespace nb = nanobind;

namespace {

/// Tells Python what happens, on the thread that waits.
class Teller final : public train::TrainObserver {
 public:
  Teller(const TrainCall& call, Aside& aside) : call_(call), aside_(aside) {}

  void started(const train::StartInfo& info) override {
    if (call_.on_start.is_none()) return;
    tell(call_.on_start, dumped(start_json(info)));
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

  std::optional<double> take_rate() override { return std::exchange(rate_, std::nullopt); }

 private:
  static double seconds_between(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  }
  void tell(const nb::object& function, const std::string& text) {
    aside_.call([&] { take(function(text)); });
  }
  /// False ends the run, a number is the learning rate from now on.
  void take(const nb::object& answer) {
    if (answer.ptr() == Py_False) aside_.stop();
    if (nb::isinstance<nb::float_>(answer)) rate_ = nb::cast<double>(answer);
  }

  const TrainCall& call_;
  Aside& aside_;
  Clock::time_point told_ = {};
  std::optional<double> rate_;
};

}  // namespace

api::TrainRequest train_request(const TrainCall& call) {
  api::TrainRequest request;
  request.job = job_request(call.job_file, call.resume, call.keywords);
  request.resume = call.resume;
  if (call.network != nullptr) request.own.network = *call.network;
  if (call.train != nullptr) request.own.data = job_data(*call.train, call.test);
  return request;
}

nb::tuple train(const TrainCall& call) {
  const api::TrainRequest request = train_request(call);
  Aside aside;
  Teller teller(call, aside);
  api::Trained trained;
  aside.run([&] { trained = api::train(request, surroundings(aside.should_stop()), teller); });
  return nb::make_tuple(trained.run.string(), dumped(outcome_json(trained.outcome)));
}

}  // namespace syrtos::python

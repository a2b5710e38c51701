#include "syrtos/train/measure/measuring_cost.h"

#include "syrtos/base/clock.h"
#include "syrtos/trace/recorder.h"

namespace syrtos::train {

namespace {

constexpr int kTimes = 2000;

template <typename Do>
double seconds_of(Do once) {
  once();  // what happens only the first time
  const auto start = Clock::now();
  for (int i = 0; i < kTimes; ++i) once();
  return seconds_since(start) / kTimes;
}

}  // namespace

MeasuringCost MeasuringCost::measure() {
  volatile int64_t noted = 0;
  trace::Recorder recorder({.max_events = kTimes + 1});
  trace::Track* track = recorder.track("cost");
  const trace::Name name = recorder.name("event");
  return {.look_s = seconds_of([&] { noted = noted + trace::now(); }),
          .event_s = seconds_of([&] { const trace::Span span(track, name); })};
}

}  // namespace syrtos::train

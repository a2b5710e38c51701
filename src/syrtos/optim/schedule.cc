#include "syrtos/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"

namespace syrtos::optim {

namespace {

constexpr double kOneCycleStart = 1.0 / 25;
constexpr double kOneCycleEnd = kOneCycleStart / 1e4;

// From `from` at 0 to `to` at 1 along half a cosine.
double cosine(double from, double to, double part) {
  return to + (from - to) * (1 + std::cos(std::numbers::pi * part)) / 2;
}

// As a fraction of the rate, `step` steps after the warm-up of a run that has `total` of them.
double fraction(const Schedule& schedule, int64_t step, int64_t total) {
  // The last step gets the final value.
  const double part = std::min(
      1.0, static_cast<double>(step) / static_cast<double>(std::max<int64_t>(1, total - 1)));
  switch (schedule.kind) {
    case ScheduleKind::constant:
      return 1;
    case ScheduleKind::step: {
      const int64_t periods = step / schedule.every;
      return std::pow(schedule.factor, static_cast<double>(periods));
    }
    case ScheduleKind::cosine:
      return cosine(1, schedule.floor, part);
    case ScheduleKind::triangle:
      return part < schedule.peak
                 ? std::lerp(schedule.start, 1, part / schedule.peak)
                 : std::lerp(1, schedule.end, (part - schedule.peak) / (1 - schedule.peak));
    case ScheduleKind::triangular: {
      const double phase =
          static_cast<double>(step % schedule.every) / static_cast<double>(schedule.every);
      return schedule.floor + (1 - schedule.floor) * (1 - std::abs(2 * phase - 1));
    }
    case ScheduleKind::one_cycle:
      return part < schedule.peak
                 ? cosine(kOneCycleStart, 1, part / schedule.peak)
                 : cosine(1, kOneCycleEnd, (part - schedule.peak) / (1 - schedule.peak));
  }
  return 1;
}

}  // namespace

const char* to_string(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::constant:
      return "constant";
    case ScheduleKind::step:
      return "step";
    case ScheduleKind::cosine:
      return "cosine";
    case ScheduleKind::triangle:
      return "triangle";
    case ScheduleKind::triangular:
      return "triangular";
    case ScheduleKind::one_cycle:
      return "one-cycle";
  }
  return "?";
}

std::vector<std::string> schedule_names() {
  return {"constant", "step", "cosine", "triangle", "triangular", "one-cycle"};
}

ScheduleKind parse_schedule(std::string_view name) {
  for (const ScheduleKind kind :
       {ScheduleKind::constant, ScheduleKind::step, ScheduleKind::cosine, ScheduleKind::triangle,
        ScheduleKind::triangular, ScheduleKind::one_cycle}) {
    if (name == to_string(kind)) return kind;
  }
  fail_request("unknown schedule '{}'{}", name, suggestion(name, schedule_names()));
}

void check(const Schedule& schedule) {
  if (!(schedule.rate > 0) || !std::isfinite(schedule.rate)) {
    fail_request("--lr: expected above 0, found {}", schedule.rate);
  }
  if (schedule.warmup_steps < 0) {
    fail_request("--warmup: expected 0 or more steps, found {}", schedule.warmup_steps);
  }
  if (schedule.cycles < 1) {
    fail_request("a schedule must have 1 cycle or more, found {}", schedule.cycles);
  }
  if (schedule.every < 1) {
    fail_request("--schedule-every: expected 1 or more steps, found {}", schedule.every);
  }
  if (!(schedule.factor > 0)) {
    fail_request("--schedule-factor: expected above 0, found {}", schedule.factor);
  }
  if (!(schedule.floor >= 0 && schedule.floor <= 1)) {
    fail_request("--schedule-floor: expected between 0 and 1, found {}", schedule.floor);
  }
  if (!(schedule.peak > 0 && schedule.peak < 1)) {
    fail_request("--schedule-peak: expected between 0 and 1, found {}", schedule.peak);
  }
  if (!(schedule.start >= 0 && schedule.start <= 1)) {
    fail_request("--schedule-start: expected between 0 and 1, found {}", schedule.start);
  }
  if (!(schedule.end >= 0 && schedule.end <= 1)) {
    fail_request("--schedule-end: expected between 0 and 1, found {}", schedule.end);
  }
}

double learning_rate(const Schedule& schedule, int64_t run_step) {
  const int64_t length =
      std::max<int64_t>(1, (schedule.total_steps + schedule.cycles - 1) / schedule.cycles);
  // After the last step of the run the rate stays where it is.
  const int64_t cycle = std::min(run_step / length, schedule.cycles - 1);
  const int64_t step = run_step - cycle * length;
  if (step < schedule.warmup_steps) {
    return schedule.rate * static_cast<double>(step + 1) /
           static_cast<double>(schedule.warmup_steps);
  }
  return schedule.rate *
         fraction(schedule, step - schedule.warmup_steps, length - schedule.warmup_steps);
}

}  // namespace syrtos::optim

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace syrtos::optim {

/// How the learning rate moves. All are pure functions of the step, so a resumed run and every
/// worker of a distributed one agree without talking.
enum class ScheduleKind {
  constant,    ///< rate
  step,        ///< rate * factor^(step / every)
  cosine,      ///< from rate to floor * rate along half a cosine
  triangle,    ///< straight from start * rate up to rate at `peak`, then down to end * rate
  triangular,  ///< up and down between floor * rate and rate, a whole triangle in `every` steps
  one_cycle,   ///< rate / 25 up to rate at `peak` of the run, then down to rate / 250000
};

const char* to_string(ScheduleKind kind);
std::vector<std::string> schedule_names();
/// Throws RequestError naming the closest known schedule.
ScheduleKind parse_schedule(std::string_view name);

struct Schedule {
  ScheduleKind kind = ScheduleKind::constant;
  double rate = 0.01;
  int64_t total_steps = 1;   ///< of the run, with the warm-up
  int64_t cycles = 1;        ///< so many times the run goes through all of it, from the beginning
  int64_t warmup_steps = 0;  ///< of each cycle: linear from rate / warmup_steps up to rate
  int64_t every = 1;         ///< step and triangular: length in steps
  double factor = 0.1;       ///< step
  double floor = 0;          ///< cosine and triangular: lowest rate, as a fraction of rate
  double peak = 0.3;   ///< one_cycle and triangle: where the highest rate is, as a part of the run
  double start = 0.2;  ///< triangle: rate of the first step, as a fraction of rate
  double end = 0.07;   ///< triangle: rate of the last step, as a fraction of rate
};

/// Throws RequestError when an option is outside of its range.
void check(const Schedule& schedule);

/// Steps count from 0; after the last step the rate stays where it ended.
double learning_rate(const Schedule& schedule, int64_t step);

}  // namespace syrtos::optim

#include "syrtos/train/progress/progress_writer.h"

#include <algorithm>

#include "syrtos/base/clock.h"
#include "syrtos/job/task_metrics.h"
#include "syrtos/run/curve.h"
#include "syrtos/run/log.h"
#include "syrtos/train/progress/progress_text.h"

namespace syrtos::train {

namespace {

constexpr auto kEvery = std::chrono::seconds(1);
constexpr int kPoints = 2000;  // of a run; a longer one has only a few times as many

}  // namespace

void ProgressWriter::started(const StartInfo& info) {
  directory_ = info.directory;
  sample_ = info.job.sample_word();
  progress_ = {.step = info.first_step,
               .steps = info.total_steps,
               .epoch = info.steps_per_epoch > 0 ? 1 + info.first_step / info.steps_per_epoch : 1,
               .epochs = info.job.epochs};
  begun_ = point_ = Clock::now();
  scribe_.post([directory = *directory_, step = info.first_step,
                metric = &job::training_metric(info.job.task)] {
    run::rewind_curve(directory, step, *metric);
  });
  for (const std::string& line : start_lines(info)) log(line);
  write();
  observer_.started(info);
}

void ProgressWriter::step(const StepProgress& info) {
  if (directory_) note(info);
  observer_.step(info);
}

void ProgressWriter::note(const StepProgress& info) {
  const auto samples = static_cast<double>(info.samples);
  if (info.epoch != now_.epoch) add_point();  // what is left of the epoch before
  const bool first = now_.epoch == 0;
  now_ = {info.epoch,
          info.loss * samples,
          info.score.value * samples,
          info.samples,
          info.images_per_s * info.seconds,
          info.seconds};
  // A run that goes on within an epoch has sums of before.
  if (first && info.step_in_epoch > 1) noted_ = now_;
  progress_.step = info.step;
  progress_.steps = info.total_steps;
  progress_.epoch = info.epoch;
  progress_.epochs = info.epochs;
  progress_.loss = info.loss;
  progress_.score = info.score;
  progress_.images_per_s = info.images_per_s;
  const auto now = Clock::now();
  if (now - point_ >= std::max<std::chrono::nanoseconds>(kEvery, (now - begun_) / kPoints)) {
    add_point();
  }
  if (now - written_ >= kEvery) write();
}

void ProgressWriter::epoch(const run::EpochMetrics& metrics) {
  log(epoch_line(metrics, progress_.epochs, sample_));
  observer_.epoch(metrics);
}

void ProgressWriter::note(const std::string& text) {
  log("note: " + text);
  observer_.note(text);
}

void ProgressWriter::log(std::string line) {
  if (!directory_) return;
  scribe_.post(
      [directory = *directory_, line = std::move(line)] { run::append_log(directory, line); });
}

void ProgressWriter::end(run::State state, const std::string& message) {
  if (!directory_) return;
  add_point();
  progress_.state = state;
  progress_.message = message;
  write();
  directory_.reset();
}

void ProgressWriter::leave() {
  if (!directory_) return;
  add_point();
  directory_.reset();
}

/// Sums begin at 0 in each epoch.
void ProgressWriter::add_point() {
  const Sums before = now_.epoch == noted_.epoch ? noted_ : Sums{};
  const int64_t samples = now_.samples - before.samples;
  const double seconds = now_.seconds - before.seconds;
  // Of those that were lost meanwhile nothing counts any more.
  if (samples <= 0 || seconds <= 0 || now_.images < before.images) return;
  const auto n = static_cast<double>(samples);
  const run::CurvePoint point{.step = progress_.step,
                              .time = wall_clock(),
                              .loss = (now_.loss - before.loss) / n,
                              .score = (now_.score - before.score) / n,
                              .images_per_s = (now_.images - before.images) / seconds};
  scribe_.post([directory = *directory_, point] { run::append(directory, point); });
  noted_ = now_;
  point_ = Clock::now();
}

void ProgressWriter::write() {
  written_ = Clock::now();
  progress_.time = wall_clock();
  scribe_.post_newest(
      0, [directory = *directory_, progress = progress_] { run::replace(directory, progress); });
}

}  // namespace syrtos::train

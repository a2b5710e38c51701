#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#include "syrtos/train/progress/progress_text.h"
#include "syrtos/train/trainer.h"

namespace syrtos::cli {

/// Where a training's progress is printed.
struct ProgressPlace {
  std::FILE* out = stdout;  ///< Not owned.
  bool colour = false;
  int columns = 0;  ///< Of the terminal that `out` ends on although it is none itself.
  /// It looks like a terminal but may end in a file: under mpirun, which gives ranks one of its
  /// own.
  bool may_be_file = false;
  std::chrono::milliseconds plain_every = std::chrono::seconds(10);  ///< Between lines of a file.
};

/// Prints how a training goes: on a terminal one line that is redrawn (bar, loss, speed, time
/// left), otherwise a plain line for each epoch and, in long ones, now and then.
class Progress : public train::TrainObserver {
 public:
  explicit Progress(const ProgressPlace& place);
  ~Progress() override { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void started(const train::StartInfo& info) override;
  void step(const train::StepProgress& info) override;
  void epoch(const train::EpochMetrics& metrics) override;
  void note(const std::string& text) override;
  /// Takes the bar away, before anything else is printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  train::Emphasis strong() const;
  /// What cannot be printed, because nobody reads it any more, is left out.
  void put(const std::string& text) const;

  ProgressPlace place_;
  bool terminal_;
  bool drawn_ = false;
  std::string sample_ = "image";  // what a sample is called
  int64_t epochs_ = 0;
  int64_t first_step_ = 0;
  Clock::time_point start_;
  Clock::time_point last_drawn_;
};

/// What can be said of a step within `columns`: the less important is left out where they are few.
/// `sample`: what a sample is called. `strong` does not count.
std::string progress_line(const train::StepProgress& info, double seconds_left,
                          const std::string& sample, int columns, bool with_bar,
                          train::Emphasis strong = train::plain);

/// A bar of `width` cells, filled to the eighth of a cell: "████▌     ".
std::string bar(double part, int width);

}  // namespace syrtos::cli

#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#include "syrtos/train/progress/progress_text.h"
#include "syrtos/train/trainer.h"

namespace syrtos::cli {

/// Prints how a training goes: on a terminal one line that is redrawn (bar, loss, speed, time
/// left), otherwise a plain line for each epoch.
class Progress : public train::TrainObserver {
 public:
  /// `out` is not owned. `columns`: of the terminal that it ends on although it is none itself.
  Progress(std::FILE* out, bool colour, int columns = 0);
  ~Progress() override { clear(); }

  void started(const train::StartInfo& info) override;
  void step(const train::StepProgress& info) override;
  void epoch(const train::EpochMetrics& metrics) override;
  /// Takes the bar away, before anything else is printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  train::Emphasis strong() const;

  std::FILE* out_;
  int columns_;
  bool terminal_;
  bool colour_;
  bool drawn_ = false;
  int64_t epochs_ = 0;
  int64_t first_step_ = 0;
  Clock::time_point start_;
  Clock::time_point last_drawn_;
};

/// A bar of `width` cells, filled to the eighth of a cell: "████▌     ".
std::string bar(double part, int width);

}  // namespace syrtos::cli

#pragma once

#include <cmath>
#include <limits>

namespace syrtos::optim {

/// Watches a metric once per epoch and says when it no longer gets better.
class EarlyStopping {
 public:
  enum class Mode { lowest, highest };  ///< which value of the metric is best

  /// Stops after `patience` epochs in a row that did not improve on the best by more than
  /// `min_delta`; patience 0 never stops but still knows the best.
  EarlyStopping(Mode mode, int patience, double min_delta)
      : mode_(mode), patience_(patience), min_delta_(min_delta) {}

  /// Takes the metric of one epoch; true when it is the best so far. NaN never is.
  bool update(double metric) {
    const double gain = mode_ == Mode::lowest ? best_ - metric : metric - best_;
    const bool improved = !std::isnan(metric) && (std::isnan(best_) || gain > min_delta_);
    if (improved) best_ = metric;
    waited_ = improved ? 0 : waited_ + 1;
    return improved;
  }

  bool should_stop() const { return patience_ > 0 && waited_ >= patience_; }
  /// NaN before the first value.
  double best() const { return best_; }
  /// Epochs since the best.
  int waited() const { return waited_; }
  /// For a run that goes on.
  void restore(double best, int waited) {
    best_ = best;
    waited_ = waited;
  }

 private:
  Mode mode_;
  int patience_;
  double min_delta_;
  double best_ = std::numeric_limits<double>::quiet_NaN();
  int waited_ = 0;
};

}  // namespace syrtos::optim

#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "syrtos/report/explain.h"

namespace syrtos::report {

/// A run and what is to be said about it.
struct Explained {
  Run run;
  Explanation explanation;
};

/// Something that the jobs or clusters of the runs do not have in common, as text.
struct OtherSetting {
  std::string name;                 ///< "optimizer.learning_rate", "link of host c"
  std::vector<std::string> values;  ///< of each run
};

/// Something of all runs, in seconds: of everything, of a step, or of 1,000 images of all workers
/// where steps cannot be compared.
struct ComparedTime {
  std::string name;
  std::vector<double> values;  ///< of each run
  /// Of the last run against the first.
  double change() const { return values.back() - values.front(); }
};

/// From the total down to what explains it. The first run is what the others are compared with.
struct Comparison {
  std::vector<std::string> names;       ///< "A", "B", ... of each run
  std::vector<OtherSetting> other;      ///< all that differs
  bool per_step = true;                 ///< otherwise per 1,000 samples
  std::vector<double> images_per_s;     ///< in usual steps; 0: not known
  std::vector<double> in_all;           ///< images per second from the command to its end, or 0
  std::vector<ComparedTime> account;    ///< from the command to its end; empty: not all know it
  ComparedTime total;                   ///< a usual step
  std::vector<ComparedTime> parts;      ///< of it, largest change first
  std::vector<ComparedTime> ranks;      ///< computing of each that all have, largest change first
  std::vector<ComparedTime> operators;  ///< that changed: layer, kind, phase; largest change first
  std::vector<std::string> verdicts;    ///< of each run but the first
  std::vector<std::string> notes;
};

/// Two runs or more.
Comparison compare(const std::vector<Explained>& runs);

std::string compare_text(const std::vector<Explained>& runs, const Comparison& comparison,
                         const ExplainTextOptions& options);
nlohmann::json compare_json(const std::vector<Explained>& runs, const Comparison& comparison);

}  // namespace syrtos::report

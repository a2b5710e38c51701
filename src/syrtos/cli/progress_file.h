#pragma once

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "syrtos/train/trainer.h"

namespace syrtos::cli {

/// How far a run is, in its directory, for whoever watches it: progress.json, replaced about once
/// in a second, curve.csv, a line about once in a second and of long runs less often (means over
/// the samples since the line before), and log.txt, what was printed. Watching is a convenience:
/// what cannot be written is left out, and nothing here throws.
class ProgressFile {
 public:
  void begin(const train::StartInfo& info);
  /// Quick: it writes only when a second has passed.
  void step(const train::StepInfo& info);
  /// A line of what was printed; colours are left out.
  void log(const std::string& line);
  /// "complete", "ended" or "failed", as it looks from here.
  void end();

 private:
  void write();
  void add_point();

  std::filesystem::path directory_;  // empty: nothing is written
  nlohmann::json state_;
  std::chrono::steady_clock::time_point written_;

  /// Sums of the current epoch.
  struct Sums {
    int64_t epoch = 0;
    double loss = 0;
    double correct = 0;
    int64_t samples = 0;
    double images = 0;  // of all workers
    double seconds = 0;
  };
  Sums now_, noted_;  // noted_: as of the last point
  std::chrono::steady_clock::time_point begun_, point_;
};

/// Why a run has failed, known to the launcher after its ranks have ended.
void note_failure(const std::filesystem::path& run, const std::string& message);

}  // namespace syrtos::cli
